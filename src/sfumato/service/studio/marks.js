// The text with its marks: originals with their types, or the preview with what was put in.

import { at, h, put, show } from "./dom.js";
import { count, listed, percent, shortened } from "./numbers.js";
import { unitsOf } from "./offsets.js";
import { change, isBlank, may, state, when } from "./store.js";
import { addAllowed, ownEntries, removeSensitive } from "./corrections.js";

const OFTEN = 0.5; // from this chance on a word is shown as one that stays
const NAMES = { LEXICON: "your own", ANY: "every word", DATE_TIME: "date" };
const UNNAMED = ["ANY", "LEXICON"];

/** Set up the pane. */
export function startMarks() {
  for (const one of document.querySelectorAll("input[name=view]")) {
    one.addEventListener("change", () => change({ view: one.value }));
  }
  at("marked").addEventListener("click", (event) => choose(event.target));
  at("marked").addEventListener("focusin", (event) => choose(event.target));
  at("marked").addEventListener("keydown", move);
  at("part-before").addEventListener("click", () => change({ part: state.part - 1, focus: null }));
  at("part-after").addEventListener("click", () => change({ part: state.part + 1, focus: null }));
  when(["found", "view"], draw);
  when(["focus"], point);
  when(["parts", "part"], turn);
  when(["session"], draw);
}

/** Take a mark away: off one's own list, or onto the list of what is never marked. */
export function unmark(word) {
  const own = word.label === "LEXICON" ? ownEntries(word.original) : [];
  if (own.length) removeSensitive(own);
  else addAllowed(word.original);
}

/** What a type is called on the page. */
export function labelOf(word) {
  return NAMES[word.label] ?? word.label.toLowerCase().replaceAll("_", " ");
}

function draw() {
  const { found, view } = state;
  const focused = document.activeElement?.closest?.("#marked") !== null && document.activeElement !== document.body;
  keepFocus();
  show(at("again"), Boolean(found) && view === "preview" && may("explain"));
  const stamped = Boolean(found) && view === "preview" && found.text !== null;
  at("stamp").textContent = stamped ? found.stamp : "";
  show(at("stamp"), stamped);
  if (!found) {
    at("finds").textContent = "";
    put(at("marked"), h("p", { class: "empty" }, emptySaid()));
    return;
  }
  put(at("marked"), pieces(found, view));
  at("marked").tabIndex = found.words.length ? -1 : 0; // what scrolls can be reached by keyboard
  at("finds").textContent = `${summary(found)}${legend()}`;
  point();
  if (focused) current()?.focus();
}

function emptySaid() {
  if (isBlank()) return "What is found in your text is marked here, with its type and the reason.";
  return "…";
}

/** The text around the marks as text, and each mark as a button that flows with it. */
function pieces(found, view) {
  if (view === "preview" && found.text === null) {
    return [h("p", { class: "empty" }, "This token lacks the right “explain”, which shows previews. Marks are shown.")];
  }
  const text = found.about;
  const units = unitsOf(text);
  const made = [];
  let place = 0;
  found.words.forEach((word, number) => {
    made.push(text.slice(place, units[word.start]), button(word, number, view === "preview", endsRun(found, units, number)));
    place = units[word.end];
  });
  made.push(text.slice(place));
  return made;
}

/** Whether the next word was not found together with this one: then the type is written here. */
function endsRun({ words, about }, units, number) {
  const [word, next] = [words[number], words[number + 1]];
  if (!next || next.label !== word.label || next.rule !== word.rule) return true;
  return /[\p{L}\p{N}\n]/u.test(about.slice(units[word.end], units[next.start])) || next.start - word.end > 2;
}

function button(word, number, replaced, named) {
  const stays = word.kept !== null && word.kept !== undefined && word.kept.value >= OFTEN;
  const unchanged = replaced && same(word);
  const kinds = ["mark"];
  if (replaced) kinds.push(unchanged ? "kept" : "new");
  else if (stays) kinds.push("stays");
  if (word.label === "LEXICON") kinds.push("own");
  const label = replaced || !named || UNNAMED.includes(word.label) ? null : h("small", { "aria-hidden": "true" }, labelOf(word));
  return h(
    "span",
    {
      class: kinds.join(" "),
      role: "button",
      tabindex: "-1",
      "data-word": number,
      "aria-label": spoken(word, replaced),
      title: replaced ? `was: ${shortened(word.original)}` : `${labelOf(word)}: ${word.reason}`,
    },
    h("span", { class: "said" }, replaced ? word.replacement : word.original),
    label,
  );
}

/** Whether the same word was put in; word vectors know no capitals. */
function same(word) {
  return word.replacement.toLowerCase() === word.original.toLowerCase();
}

function spoken(word, replaced) {
  const chance = word.kept ? `, stays with a chance of ${percent(word.kept.value)}` : "";
  const told = `${labelOf(word)}: ${word.reason}${chance}`;
  if (!replaced) return `${word.original}, ${told}`;
  const change = same(word) ? "stayed as it was" : `in the place of ${word.original}`;
  return `${word.replacement || "nothing"}, ${change}, ${told}`;
}

function summary(found) {
  if (!found.words.length) return "Nothing is found.";
  const types = new Map();
  for (const word of found.words) types.set(labelOf(word), (types.get(labelOf(word)) ?? 0) + 1);
  const most = [...types].sort((one, other) => other[1] - one[1]);
  const named = most.slice(0, 4).map(([name, number]) => (number > 1 ? `${name} ${number}` : name));
  const rest = most.slice(4).reduce((sum, [, number]) => sum + number, 0);
  if (rest) named.push(count(rest, "other"));
  return `${count(found.words.length, "place")} found: ${listed(named)}.`;
}

/** What an underline means, where there is one. */
function legend() {
  if (at("marked").querySelector(".mark.kept")) return " Underlined: stayed.";
  return at("marked").querySelector(".mark.stays") ? " Underlined: mostly stays." : "";
}

/** After a new answer the same word stays in focus, if it is still there. */
function keepFocus() {
  const { found, focus } = state;
  const words = found?.words ?? [];
  if (focus && words.some((one) => one.start === focus.start && one.original === focus.original)) return;
  if (focus && !found) return;
  change({ focus: null });
}

function numberInFocus() {
  const { found, focus } = state;
  if (!found || !focus) return -1;
  return found.words.findIndex((one) => one.start === focus.start && one.original === focus.original);
}

function current() {
  const number = Math.max(0, numberInFocus());
  return at("marked").querySelector(`[data-word="${number}"]`);
}

function point() {
  const chosen = numberInFocus();
  for (const one of at("marked").querySelectorAll(".mark[tabindex='0'], .mark[aria-current]")) {
    one.tabIndex = -1;
    one.removeAttribute("aria-current");
  }
  const one = current();
  if (!one) return;
  one.tabIndex = 0;
  if (chosen >= 0) one.setAttribute("aria-current", "true");
}

function choose(target) {
  const mark = target.closest?.("[data-word]");
  if (!mark) return;
  const word = state.found?.words[Number(mark.dataset.word)];
  if (word) change({ focus: { start: word.start, original: word.original } });
}

function move(event) {
  const mark = event.target.closest("[data-word]");
  if (!mark) return;
  const number = Number(mark.dataset.word);
  const last = state.found.words.length - 1;
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -last, End: last };
  if (event.key in steps) {
    const next = Math.min(last, Math.max(0, number + steps[event.key]));
    at("marked").querySelector(`[data-word="${next}"]`)?.focus();
  } else if (event.key === "Delete" || event.key === "Backspace") {
    unmark(state.found.words[number]);
  } else if (event.key === "Enter" || event.key === " ") {
    choose(mark);
    document.getElementById("word-title").scrollIntoView({ block: "nearest" });
  } else return;
  event.preventDefault();
}

function turn() {
  const many = state.parts.length;
  show(at("pager"), many > 1);
  at("part-which").textContent = `part ${(state.part + 1).toLocaleString("en")} of ${many.toLocaleString("en")}`;
  at("part-before").disabled = state.part === 0;
  at("part-after").disabled = state.part >= many - 1;
}

/** The word in focus, as the preview describes it. */
export function wordInFocus() {
  const number = numberInFocus();
  return number < 0 ? null : state.found.words[number];
}
