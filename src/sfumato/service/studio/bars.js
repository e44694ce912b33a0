// Bars: a list of words with their chances, each said in figures and drawn as a soft bar.

import { h } from "./dom.js";
import { percent } from "./numbers.js";

const SMALL = 0.0005; // what is not worth a row of its own

/** The largest of the chances in some lists: what a full bar means. */
export function largest(...lists) {
  return Math.max(SMALL, ...lists.flatMap(({ words }) => words.map((one) => one.value)));
}

/** Words with their chances, and all others together; `marked` is the word itself. */
export function bars(title, list, { marked = "", kind = "", full = largest(list) } = {}) {
  const { words, others } = list;
  const rows = words.map((one) => row(one.word, one.value / full, one, one.word === marked ? `${kind} own` : kind));
  if (others && others.value > SMALL) rows.push(row("any other", 0, others, "rest"));
  return h("figure", { class: "bars" }, h("figcaption", {}, title), h("ol", {}, rows));
}

/** One chance in large, with what is known of it. */
export function figure(title, share, kind = "") {
  const sure = share.draws ? h("small", {}, interval(share)) : null;
  return h("div", { class: `figure ${kind}` }, h("dt", {}, title), h("dd", {}, h("strong", {}, percent(share.value)), sure));
}

/** Between what a counted chance lies, with 95 % confidence. */
function interval(share) {
  return `${percent(share.low)} to ${percent(share.high)}`;
}

function row(word, width, share, kind) {
  const filled = h("span", { class: "fill" });
  filled.style.setProperty("--share", String(Math.min(1, width)));
  return h(
    "li",
    { class: `barrow ${kind}` },
    h("bdi", { class: "name" }, word),
    h("span", { class: "track", "aria-hidden": "true" }, width ? filled : null),
    h("span", { class: "value" }, percent(share.value)),
  );
}
