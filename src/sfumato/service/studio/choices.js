// Policy and mechanism, from the catalog of the service.

import { at, h, put } from "./dom.js";
import { change, mechanism, state, when } from "./store.js";

const GROUPS = [
  ["by type", "For each type its own"],
  ["words", "Word by word, at a level"],
  ["stretches", "What was found, as a whole"],
];

/** Set up both menus. */
export function startChoices() {
  at("mechanism").addEventListener("change", () => change({ mechanism: at("mechanism").value }));
  when(["policies"], drawPolicies);
  when(["mechanisms"], drawMechanisms);
  when(["mechanism"], drawSummary);
  when(["mechanism"], () => {
    at("mechanism").value = state.mechanism;
  });
}

function drawPolicies() {
  const options = state.policies.map((one) =>
    h(
      "label",
      { class: "option" },
      h("input", {
        type: "radio",
        name: "policy",
        value: one.name,
        checked: one.name === state.policy,
        onchange: () => change({ policy: one.name }),
      }),
      h("span", {}, h("strong", {}, one.name), h("small", {}, one.summary)),
    ),
  );
  const best = ["pii", "digits", "everything", "nothing"];
  options.sort((one, other) => place(one, best) - place(other, best));
  put(at("policies"), h("legend", { class: "unseen" }, "Policy"), options);
}

function place(option, names) {
  const found = names.indexOf(option.querySelector("input").value);
  return found < 0 ? names.length : found;
}

function drawMechanisms() {
  const groups = GROUPS.map(([kind, title]) => {
    const members = state.mechanisms.filter((one) => one.replaces === kind);
    return h("optgroup", { label: title }, members.map((one) => h("option", { value: one.name }, one.name)));
  });
  put(at("mechanism"), groups);
  at("mechanism").value = state.mechanism;
  drawSummary();
}

function drawSummary() {
  const chosen = mechanism();
  const summary = chosen?.summary ?? "";
  at("mechanism-summary").textContent = summary && `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}
