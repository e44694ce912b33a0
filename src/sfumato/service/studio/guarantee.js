// What is guaranteed, in three plain lines, with the exact statement folded below.

import { askPatiently, Problem } from "./api.js";
import { at, h, put } from "./dom.js";
import { change, choices, state, when } from "./store.js";
import { atRest, Newest } from "./timing.js";
import { said } from "./wording.js";

const newest = new Newest();
const soon = atRest(150, look);
let stated = { of: "", guarantee: null };

/** Follow the preview; without a text the settings alone say it. */
export function startGuarantee() {
  when(["found", "policy", "mechanism", "levels", "leveled", "lexicon", "allowed", "session"], soon);
}

/** Three lines, each with its first word set apart, and the fold. */
export function drawn(guarantee) {
  const lines = guarantee.summary.map((line) => {
    const [, name, rest] = line.match(/^([A-Z][a-z ]{2,24})[:.] (.*)$/s) ?? [null, "", line];
    return h("li", {}, name && h("strong", {}, name), h("span", {}, sentence(rest)));
  });
  return [
    h("ul", { class: guarantee.for_release ? "lines" : "lines unproven" }, lines),
    h(
      "details",
      { class: "exact" },
      h("summary", {}, "The exact statement"),
      h("p", {}, guarantee.sentence),
    ),
  ];
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What settings promise before a text is read is what is charged for; a text may need less. */
async function look() {
  if (!state.session) return;
  const asked = JSON.stringify(choices());
  if (stated.of !== asked) {
    const signal = newest.begin();
    try {
      const guarantee = await askPatiently("/v1/guarantee", choices(), { signal });
      if (signal.aborted) return;
      stated = { of: asked, guarantee };
      change({ stated: { ...guarantee, of: asked } });
    } catch (problem) {
      if (signal.aborted) return;
      if (!(problem instanceof Problem)) throw problem;
      stated = { of: "", guarantee: null };
      change({ stated: null });
      put(at("guarantee"), h("p", { class: "notice danger" }, said(problem)));
      return;
    }
  }
  tell(state.found?.choices === asked ? state.found.guarantee : stated.guarantee);
}

function tell(guarantee) {
  const open = at("guarantee").querySelector("details")?.open ?? false;
  put(at("guarantee"), drawn(guarantee));
  at("guarantee").querySelector("details").open = open;
}
