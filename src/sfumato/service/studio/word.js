// The word in focus: why it is marked, what it may become, and what an attacker would guess.

import { askPatiently, Problem } from "./api.js";
import { at, h, put } from "./dom.js";
import { count, percent, shortened } from "./numbers.js";
import { choices, may, state, when } from "./store.js";
import { atRest, Newest } from "./timing.js";
import { bars, figure, largest } from "./bars.js";
import { ownEntries } from "./corrections.js";
import { labelOf, unmark, wordInFocus } from "./marks.js";
import { lacking, said } from "./wording.js";

const FEW = 50;
const MANY = 400;
const newest = new Newest();
const soon = atRest(120, () => look(FEW));
const later = atRest(700, () => look(MANY));
let chances = null;
let shown = ""; // of which word the chances are

/** Follow the focus and the settings. */
export function startWord() {
  when(["focus", "found", "session"], draw);
  draw();
}

function draw() {
  const word = wordInFocus();
  if (!word) {
    newest.stop();
    soon.cancel();
    later.cancel();
    shown = "";
    chances = null;
    put(at("word-body"), h("p", { class: "empty" }, emptySaid()));
    return;
  }
  const asked = JSON.stringify([word.original, word.start, choices()]);
  chances ??= h("div", { class: "chances" });
  put(at("word-body"), head(word), chances);
  if (shown === asked) return;
  if (shown === "") put(chances);
  shown = asked;
  chances.classList.add("stale");
  if (!may("explain")) put(chances, h("p", { class: "notice" }, lacking("explain")));
  else {
    soon();
    later.cancel();
  }
}

function emptySaid() {
  return state.found?.words.length
    ? "Choose a mark in the text: why it is there, what the word may become, and what an attacker would make of that."
    : "Once something is marked, each mark tells here why it is there and what may become of the word.";
}

function head(word) {
  const places = state.found.words.filter((one) => one.original === word.original).length;
  const own = word.label === "LEXICON" && ownEntries(word.original).length > 0;
  const everywhere = places > 1 ? ` (${count(places, "place")} here)` : "";
  return h(
    "div",
    { class: "head" },
    h("p", { class: "focus" }, h("bdi", {}, shortened(word.original, 60))),
    h("p", { class: "why" }, h("span", { class: "tag" }, labelOf(word)), word.reason === labelOf(word) ? "" : ` ${word.reason}`),
    word.replacement === null ? null : h("p", { class: "quiet" }, "In this preview: ", h("bdi", {}, shortened(word.replacement, 60) || "nothing")),
    h(
      "button",
      { type: "button", onclick: () => unmark(word) },
      own ? `Take it off your list${everywhere}` : `Do not mark it${everywhere}`,
    ),
  );
}

async function look(draws) {
  const word = wordInFocus();
  if (!word || !chances) return;
  const signal = newest.begin();
  const about = state.found.about;
  try {
    const asked = { ...choices(), text: about, start: word.start, draws };
    const view = await askPatiently("/v1/explain/word", asked, { signal });
    if (signal.aborted || !chances) return;
    chances.classList.remove("stale");
    put(chances, told(view));
    at("word-said").textContent = spoken(view);
    if (draws === FEW && !view.exact && view.draws) later();
  } catch (problem) {
    if (signal.aborted) return;
    if (!(problem instanceof Problem)) throw problem;
    chances?.classList.remove("stale");
    if (chances) put(chances, h("p", { class: "notice danger" }, said(problem)));
  }
}

/** The essence, for those who listen. */
function spoken(view) {
  if (!view.stays) return view.examples.length ? `${view.word} may become ${view.examples[0]}.` : "";
  const guessed = view.attacker ? `, an attacker guesses it with ${percent(view.attacker.right.value)}` : "";
  return `${view.word} stays with ${percent(view.stays.value)}${guessed}.`;
}

/** What is known of a word. */
export function told(view) {
  // A bar means the same in both lists: they stand below each other, and are compared.
  const full = largest(...[view.replacements, view.attacker?.guesses].filter(Boolean));
  return [
    ...view.notes.map((note) => h("p", { class: "quiet" }, `${note.charAt(0).toUpperCase()}${note.slice(1)}.`)),
    view.stays || view.attacker
      ? h(
          "dl",
          { class: "figures" },
          view.stays && figure("stays as it is", view.stays, "stay"),
          view.attacker && figure("an attacker guesses it", view.attacker.right, "guess"),
        )
      : null,
    view.replacements && view.replacements.words.length ? bars("It may become", view.replacements, { kind: "new", full }) : null,
    view.attacker ? attack(view, full) : null,
    view.examples.length ? examples(view.examples) : null,
  ];
}

function attack(view, full) {
  const { attacker } = view;
  const blind = `Without seeing the output the best guess is “${attacker.blind.word}”, ${percent(attacker.blind.share)} by how frequent words are.`;
  const place = attacker.sees_place
    ? ` Whoever saw the noise before a word is read off it would be right with ${percent(attacker.sees_place.value)}.`
    : "";
  return h(
    "div",
    {},
    bars("Seeing it, an attacker would guess", attacker.guesses, { marked: view.word.toLowerCase(), kind: "guessed", full }),
    h("p", { class: "quiet" }, `${blind}${place}`),
  );
}

function examples(drawn) {
  return h(
    "figure",
    { class: "bars" },
    h("figcaption", {}, "It may become, for example"),
    h("ul", { class: "chips" }, drawn.map((one) => h("li", { class: "chip" }, h("bdi", {}, shortened(one))))),
  );
}
