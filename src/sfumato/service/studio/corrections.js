// Corrections: words that are sensitive as well, and words that are not. They hold wherever a word
// stands, as a lexicon does.

import { at, h, put, show } from "./dom.js";
import { count, shortened } from "./numbers.js";
import { change, state, when } from "./store.js";

const MOST = 5000;
const LONGEST = 64; // words of an entry

/** Set up the two lists. */
export function startCorrections() {
  at("correct").addEventListener("submit", (event) => {
    event.preventDefault();
    take(addSensitive);
  });
  at("correct-allow").addEventListener("click", () => take(addAllowed));
  when(["lexicon", "allowed"], draw);
  draw();
}

/** Mark a word or phrase wherever it stands. */
export function addSensitive(entry) {
  return add(entry, "lexicon", "allowed");
}

/** Mark it nowhere. */
export function addAllowed(entry) {
  return add(entry, "allowed", "lexicon");
}

/** The entries of one's own of which a word is all, or a part. */
export function ownEntries(word) {
  const asked = ` ${words(word)} `;
  return state.lexicon.filter((one) => ` ${words(one)} `.includes(asked));
}

/** Take entries off the list of one's own. */
export function removeSensitive(entries) {
  change({ lexicon: state.lexicon.filter((one) => !entries.includes(one)) });
}

function take(adding) {
  const field = at("correct-word");
  if (adding(field.value)) field.value = "";
  field.focus();
}

function add(given, list, other) {
  const entry = given.replace(/\s+/gu, " ").trim();
  const wrong = fault(entry, list);
  at("correct-problem").textContent = wrong;
  show(at("correct-problem"), wrong !== "");
  if (wrong) return false;
  if (state[list].some((one) => same(one, entry))) return true;
  change({
    [list]: [...state[list], entry],
    [other]: state[other].filter((one) => !same(one, entry)),
    focus: null,
  });
  return true;
}

function fault(entry, list) {
  if (!/[\p{L}\p{N}]/u.test(entry)) return "An entry needs at least one word.";
  if (entry.length > 1000 || entry.split(" ").length > LONGEST) return `An entry has at most ${LONGEST} words.`;
  if (state[list].length >= MOST) return `A list has at most ${MOST.toLocaleString("en")} entries.`;
  return "";
}

function same(one, other) {
  return words(one) === words(other);
}

/** An entry as it is matched, roughly: its words, whatever stands between them. */
function words(entry) {
  return entry.toLowerCase().replace(/[^\p{L}\p{N}\p{M}]+/gu, " ").trim();
}

function draw() {
  put(
    at("corrections"),
    listOf("Marked by you", "lexicon"),
    listOf("Never marked", "allowed"),
  );
}

function listOf(title, list) {
  const entries = state[list];
  if (!entries.length) return null;
  const chips = entries.map((entry) =>
    h(
      "li",
      { class: `chip ${list}` },
      h("bdi", {}, shortened(entry)),
      h(
        "button",
        {
          type: "button",
          "aria-label": `Take “${shortened(entry)}” off the list`,
          onclick: () => remove(list, entry),
        },
        "×",
      ),
    ),
  );
  const id = `list-${list}`;
  return [
    h("h3", { id }, `${title} `, h("span", { class: "quiet" }, count(entries.length, "entry", "entries"))),
    h("ul", { class: "chips", "aria-labelledby": id }, chips),
  ];
}

function remove(list, entry) {
  change({ [list]: state[list].filter((one) => one !== entry), focus: null });
  at("correct-word").focus();
}
