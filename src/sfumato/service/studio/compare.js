// Two mechanisms side by side: at the same level, and at the same chance that a word stays. The
// same level means different things to different mechanisms; the same chance does not.

import { askPatiently, Problem } from "./api.js";
import { at, h, put } from "./dom.js";
import { bars, figure, largest } from "./bars.js";
import { level as written, percent, shortened } from "./numbers.js";
import { change, may, mechanism, state, when } from "./store.js";
import { atRest, Newest } from "./timing.js";
import { firstLevel } from "./level.js";
import { wordInFocus } from "./marks.js";
import { lacking, said } from "./wording.js";

const DRAWS = 100;
const BARS = 5;
const WORDS = "laplace"; // what `auto` does to words
const OTHER = "exponential";
const newest = new Newest();
const soon = atRest(500, look);
let near = false; // whether it can be seen: nothing is computed for what nobody looks at
let shown = "";
let result = null;

/** Set up the two menus; the first follows the mechanism that is chosen. */
export function startCompare() {
  when(["mechanisms", "session"], draw);
  when(["mechanism"], follow);
  when(["focus", "found", "levels", "compared"], soon);
  new IntersectionObserver(([entry]) => {
    near = entry.isIntersecting;
    if (near) soon();
  }, { rootMargin: "100px" }).observe(at("compare"));
}

function wordMechanisms() {
  return state.mechanisms.filter((one) => one.replaces === "words" && one.staying);
}

function follow() {
  const name = state.mechanism === "auto" ? WORDS : state.mechanism;
  if (!wordMechanisms().some((one) => one.name === name)) return;
  const [, other] = state.compared;
  choose(name, other === name ? (name === OTHER ? WORDS : OTHER) : other);
}

function choose(first, second) {
  change({ compared: [first, second] });
  draw();
}

function draw() {
  if (!state.session) return;
  if (!may("explain")) {
    put(at("compare-body"), h("p", { class: "notice" }, lacking("explain")));
    return;
  }
  const [first, second] = state.compared;
  const menu = (id, label, chosen, choosing) =>
    h(
      "div",
      {},
      h("label", { for: id }, label),
      h(
        "select",
        {
          id,
          onchange: (event) => {
            choosing(event.target.value);
            at(id).focus();
          },
        },
        wordMechanisms().map((one) => h("option", { value: one.name, selected: one.name === chosen }, one.name)),
      ),
    );
  result ??= h("div", { class: "sides" });
  put(
    at("compare-body"),
    h(
      "div",
      { class: "row" },
      menu("compare-first", "This mechanism", first, (name) => choose(name, second)),
      menu("compare-second", "Against this one", second, (name) => choose(first, name)),
      h("p", { id: "compare-on", class: "quiet grow", role: "status" }),
    ),
    result,
  );
  soon();
}

/** The word to compare on: the one in focus, else the first that is marked. */
function subject() {
  return wordInFocus() ?? state.found?.words[0] ?? null;
}

async function look() {
  if (!near || !result?.isConnected) return;
  const word = subject();
  if (!word) {
    shown = "";
    at("compare-on").textContent = "";
    put(result, h("p", { class: "empty" }, "Once something is marked, both mechanisms are tried on it."));
    return;
  }
  const [first] = state.compared;
  const epsilon = state.levels[first] ?? firstLevel(mechanism(first));
  const asked = { text: word.original, mechanisms: state.compared, epsilon, draws: DRAWS, most: BARS };
  if (JSON.stringify(asked) === shown) return;
  shown = JSON.stringify(asked);
  at("compare-on").textContent = `On “${shortened(word.original)}”, ${first} at ε ${written(epsilon)}.`;
  result.classList.add("stale");
  const signal = newest.begin();
  try {
    const found = await askPatiently("/v1/compare", asked, { signal });
    if (!signal.aborted) put(result, sides(found));
  } catch (problem) {
    if (signal.aborted) return;
    if (!(problem instanceof Problem)) throw problem;
    shown = "";
    put(result, h("p", { class: "notice danger" }, said(problem)));
  }
  result.classList.remove("stale");
}

/** The first is the same in both comparisons, so it is shown once. */
function sides({ equal_epsilon: [first, same], equal_chance: equal, reason }) {
  const all = [first, same, ...(equal ?? [])].map((one) => one.words[0].replacements).filter(Boolean);
  const full = largest(...all);
  return [
    side(first, "To compare with", full),
    side(same, "At the same ε", full),
    equal
      ? side(equal[1], "At the same chance to stay", full)
      : h("article", { class: "side" }, h("p", { class: "eyebrow" }, "At the same chance to stay"), h("p", { class: "quiet" }, reason)),
  ];
}

function side(one, eyebrow, full) {
  const [view] = one.words;
  const several = one.words.length > 1;
  const share = (value) => ({ value, draws: 0 });
  return h(
    "article",
    { class: "side" },
    h("p", { class: "eyebrow" }, eyebrow),
    h("h3", {}, one.mechanism, " ", h("span", { class: "quiet" }, `ε ${written(one.epsilon)}`)),
    h(
      "p",
      { class: "quiet" },
      `The median public word stays with ${percent(one.public.median)}.`,
      several ? ` Below, means of ${one.words.length} words; bars of the first.` : "",
    ),
    h(
      "dl",
      { class: "figures" },
      figure("this word stays", several ? share(one.stays) : view.stays, "stay"),
      figure("an attacker guesses it", several ? share(one.right) : view.attacker.right, "guess"),
    ),
    view.replacements ? bars("It may become", view.replacements, { kind: "new", full }) : h("p", { class: "quiet" }, view.notes.join("; ")),
    h("button", { type: "button", onclick: () => use(one) }, `Use ${one.mechanism} at ε ${written(one.epsilon)}`),
  );
}

function use({ mechanism: name, epsilon }) {
  const level = Number(epsilon.toPrecision(3));
  change({ mechanism: name, levels: { ...state.levels, [name]: level } });
  at("mechanism").focus();
}
