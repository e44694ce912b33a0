// The level: a slider over a curve that shows the chance that a word stays.

import { at, h, put, s } from "./dom.js";
import { level as written, percent } from "./numbers.js";
import { change, mechanism, state, when } from "./store.js";
import { chanceAt, levelAt } from "./staying.js";

const STEPS = 400;
const START = 0.3; // the chance to stay at which a mechanism begins
const WIDE = [0.5, 64]; // levels of a word mechanism without a curve
const OWN_UNITS = [0.001, 10]; // levels per day, per km, …
const [WIDTH, HEIGHT] = [300, 84];

let slider = null;
let field = null;
let output = null;
let dot = null;

/** Set up the control; it is made anew for each mechanism. */
export function startLevel() {
  when(["mechanism", "mechanisms", "leveled"], draw);
  when(["levels"], update);
}

/** The curve of a mechanism, if one was measured. */
export function curveOf(chosen) {
  return chosen?.staying ?? null;
}

function draw() {
  const chosen = mechanism();
  if (!chosen) return;
  if (state.levels[chosen.name] === undefined) {
    change({ levels: { ...state.levels, [chosen.name]: firstLevel(chosen) } });
  }
  slider = field = output = dot = null;
  put(at("level"), chosen.level === "none" ? noLevel() : [choice(chosen), control(chosen)]);
  update();
}

function noLevel() {
  return h("p", { class: "quiet" }, "It takes no level: there is nothing to choose between more and less.");
}

function choice(chosen) {
  if (chosen.level !== "optional") return null;
  const said = chosen.name === "auto" ? "Replace words without a type by others, at a level" : "Choose the level";
  return h(
    "label",
    { class: "check" },
    h("input", {
      type: "checkbox",
      id: "leveled",
      checked: Boolean(state.leveled[chosen.name]),
      onchange: (event) => {
        change({ leveled: { ...state.leveled, [chosen.name]: event.target.checked } });
        at("leveled").focus();
      },
    }),
    h("span", {}, said),
  );
}

function control(chosen) {
  if (chosen.level === "optional" && !state.leveled[chosen.name]) {
    const said = chosen.name === "auto"
      ? "Without one, such words are masked. Dates, places and numbers have levels of their own."
      : "Without one, the mechanism has its own.";
    return h("p", { class: "quiet" }, said);
  }
  const curve = curveOf(chosen);
  slider = h("input", {
    type: "range", id: "epsilon", min: 0, max: STEPS, step: 1, "aria-describedby": "stays",
    oninput: () => choose(fromPlace(chosen, Number(slider.value))),
  });
  field = h("input", {
    type: "number", id: "epsilon-exact", min: 0, step: "any", inputmode: "decimal", "aria-label": "Epsilon, exactly",
    onchange: () => choose(Number(field.value)),
  });
  output = h("p", { id: "stays", class: "chance" });
  return h(
    "div",
    { class: "level" },
    h("div", { class: "bar" }, h("label", { for: "epsilon" }, "Level ", h("span", { class: "symbol" }, "ε")), field),
    curve ? picture(chosen, curve) : null,
    slider,
    h("p", { class: "ends", "aria-hidden": "true" }, h("span", {}, "more private"), h("span", {}, "more is kept")),
    output,
  );
}

function choose(value) {
  const chosen = mechanism();
  if (!(value > 0) || !Number.isFinite(value)) {
    update();
    return;
  }
  change({ levels: { ...state.levels, [chosen.name]: value } });
}

function update() {
  const chosen = mechanism();
  const value = state.levels[chosen?.name];
  if (!slider || value === undefined) return;
  slider.value = String(Math.round(toPlace(chosen, value)));
  if (document.activeElement !== field) field.value = written(value);
  const curve = curveOf(chosen);
  const chance = curve && chanceAt(curve, value);
  put(output, ...chanceSaid(chosen, chance));
  const spoken = chance ? `, a word stays with a chance of about ${percent(chance.median)}` : "";
  slider.setAttribute("aria-valuetext", `${written(value)}${spoken}`);
  slider.style.setProperty("--at", String(toPlace(chosen, value) / STEPS));
  if (dot) {
    const { x, y } = spot(chosen, value, chance.median);
    dot.setAttribute("transform", `translate(${x} ${y})`);
  }
}

function chanceSaid(chosen, chance) {
  if (!chance) {
    const said = chosen.replaces === "words"
      ? "For this mechanism no chance to stay was measured beforehand; the word in focus shows its own."
      : "Per unit of what is moved: a day, a kilometer, a percent. Whole stretches are replaced, so no word has a chance to stay of its own.";
    return [h("span", { class: "quiet" }, said)];
  }
  return [
    "Chance that a word stays: ",
    h("strong", {}, percent(chance.median)),
    h("small", {}, `the median of public words; for nine in ten of them between ${percent(chance.low)} and ${percent(chance.high)}`),
  ];
}

/** Where a mechanism begins: at a chance that a word stays which most would call private. */
export function firstLevel(chosen) {
  const curve = curveOf(chosen);
  const found = curve ? levelAt(curve, START) : null;
  if (found !== null) return Number(found.toPrecision(2));
  return chosen.replaces === "stretches" ? 0.1 : 10;
}

function rangeOf(chosen) {
  const curve = curveOf(chosen);
  if (curve) return [curve.epsilon[0], curve.epsilon.at(-1)];
  return chosen.replaces === "stretches" ? OWN_UNITS : WIDE;
}

function toPlace(chosen, value) {
  const [low, high] = rangeOf(chosen).map(Math.log);
  return Math.min(STEPS, Math.max(0, (STEPS * (Math.log(value) - low)) / (high - low)));
}

function fromPlace(chosen, place) {
  const [low, high] = rangeOf(chosen).map(Math.log);
  return Number(Math.exp(low + ((high - low) * place) / STEPS).toPrecision(3));
}

/** The curve: a soft band for nine words in ten, a line for the median, a dot for the level. */
function picture(chosen, curve) {
  const at = (values) => curve.epsilon.map((one, place) => spot(chosen, one, values[place]));
  const path = (spots) => spots.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(" L ");
  const band = `M ${path(at(curve.high))} L ${path(at(curve.low).reverse())} Z`;
  dot = s("g", { class: "dot" }, s("circle", { r: 9, class: "halo" }), s("circle", { r: 4.5 }));
  return s(
    "svg",
    { viewBox: `0 -8 ${WIDTH} ${HEIGHT + 12}`, class: "curve", "aria-hidden": "true", focusable: "false" },
    s("path", { d: band, class: "band" }),
    s("line", { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: "floor" }),
    s("path", { d: `M ${path(at(curve.median))}`, class: "median" }),
    dot,
  );
}

function spot(chosen, epsilon, chance) {
  return { x: (toPlace(chosen, epsilon) / STEPS) * WIDTH, y: HEIGHT * (1 - chance) };
}
