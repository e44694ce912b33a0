// Previews: what would become of the text. Few draws while somebody types or drags, many at rest.
// What is about another text or mechanism is called off. While only the level moves, each answer is
// waited for and shown before the next is asked for: so a drag shows what happens on the way.

import { askPatiently, Problem } from "./api.js";
import { at, show } from "./dom.js";
import { change, CHOSEN, choices, may, state, visibleText, when } from "./store.js";
import { atRest, Newest } from "./timing.js";
import { lacking, said } from "./wording.js";
import { connected } from "./session.js";

// Draws for each different word, and how many draws there may be in all.
const MOVING = { each: 50, all: 1000 };
const RESTING = { each: 400, all: 9000 };
const REST = 600; // milliseconds

const newest = new Newest();
const refine = atRest(REST, () => run(RESTING, true));
const soon = atRest(40, () => run(MOVING, false));
let distinct = 30; // different words of the last answer
let flying = null; // the question that is being answered

/** Ask again whenever the text or a setting changes. */
export function startPreview() {
  when([...CHOSEN, "session"], renew);
  at("again").addEventListener("click", () => run(RESTING, false));
}

function renew() {
  if (!state.session) return;
  refine.cancel();
  if (visibleText().trim() === "") {
    newest.stop();
    soon.cancel();
    flying = null;
    change({ found: null });
    busy(false);
    complain("");
    return;
  }
  busy(true);
  if (flying && flying.about === subject()) {
    flying.outdated = true;
    return;
  }
  newest.stop();
  soon();
}

/** All that is asked, but for the level. */
function subject() {
  return JSON.stringify([visibleText(), { ...choices(), epsilon: null }]);
}

async function run(effort, refining) {
  const text = visibleText();
  if (text.trim() === "" || !state.session) return;
  const signal = newest.begin();
  const flight = { about: subject(), outdated: false };
  flying = flight;
  if (!refining) busy(true);
  try {
    const asked = JSON.stringify(choices());
    const answer = await look(text, effort, signal);
    if (signal.aborted) return;
    connected(true);
    complain("");
    const found = { ...answer, about: text, choices: asked };
    distinct = new Set(found.words.map((one) => one.original)).size;
    change({ found: refining ? refined(found) : found });
  } catch (problem) {
    if (signal.aborted) return;
    if (!(problem instanceof Problem)) throw problem;
    change({ found: null });
    complain(said(problem));
    connected(problem.status !== 0, problem);
  }
  flying = null;
  if (flight.outdated) {
    run(MOVING, false);
    return;
  }
  busy(false);
  if (effort === MOVING && state.found?.words.some((one) => one.kept)) refine();
}

function look(text, effort, signal) {
  const patient = { signal, waiting: (problem) => connected(problem.status !== 0, problem) };
  if (may("explain")) return askPatiently("/v1/explain", { ...choices(), text, draws: draws(effort) }, patient);
  if (may("analyze")) return analyzed(text, patient);
  throw new Problem(403, { detail: `${lacking("explain")} Nothing can be shown` });
}

function draws({ each, all }) {
  const words = state.policy === "everything" ? visibleText().split(/\s+/u).length * 0.6 : distinct;
  return Math.max(5, Math.min(each, Math.round(all / Math.max(1, words))));
}

/** Marks alone, for a token that may not see previews. */
async function analyzed(text, patient) {
  const { policy, lexicon = [], allow_list = [] } = choices();
  const asked = { text, policy, lexicon, allow_list, return_decision_process: true };
  const results = await askPatiently("/v1/analyze", asked, patient);
  const guarantee = await askPatiently("/v1/guarantee", choices(), patient);
  const letters = Array.from(text);
  const words = results.map((one) => ({
    start: one.start,
    end: one.end,
    original: letters.slice(one.start, one.end).join(""),
    replacement: null,
    label: one.entity_type,
    rule: one.analysis_explanation?.recognizer ?? "",
    reason: one.analysis_explanation?.textual_explanation ?? "",
    kept: null,
  }));
  return { stamp: "", text: null, words, guarantee };
}

/** More exact chances for the same preview: its words stay as they were drawn. */
function refined(found) {
  const before = state.found;
  const same =
    before && before.about === found.about && before.choices === found.choices &&
    before.words.length === found.words.length;
  if (!same) return found;
  const words = before.words.map((one, place) => ({ ...one, kept: found.words[place].kept }));
  return { ...before, words };
}

function busy(working) {
  at("marked").classList.toggle("stale", working);
  at("marked").setAttribute("aria-busy", String(working));
}

function complain(message) {
  at("preview-problem").textContent = message;
  show(at("preview-problem"), message !== "");
}
