// The budget: who pays, what is left, what this release costs.

import { ask, askPatiently, Problem } from "./api.js";
import { at, h, put } from "./dom.js";
import { count, level, levelAtMost } from "./numbers.js";
import { change, CHOSEN, foundNow, isLong, may, state, statedNow, when } from "./store.js";
import { Newest } from "./timing.js";
import { lacking, said } from "./wording.js";

const WHOM = [
  ["text", "one text: pays ε for each release of it"],
  ["author", "all of one author: pays the level of every place that is replaced"],
]; // an account of a corpus pays for training, not for parts of a text
const SHORT = 160; // letters of a sentence that is not folded
const newest = new Newest();
let answer = null;

/** Set up the form of the account. */
export function startBudget() {
  when(["session"], draw);
  when(["account", "found", "stated", ...CHOSEN], update);
}

/** What a release costs an account of a kind: the amount (null if it cannot pay), and why.
 *
 * The service computes it as it charges it. `open` tells that it is this much at least: of a long
 * text only a part has been looked at, and an author pays for every place.
 */
export function costFor(kind) {
  const stated = statedNow();
  if (!stated) return null;
  const found = foundNow();
  const known = found?.costs?.[kind];
  if (known) {
    const many = count(found.words.length, "place");
    const why = kind !== "author" || known.level === null ? known.why : `for ${many}${isLong() ? " in the part that is shown" : ""}`;
    return { amount: known.level, open: kind === "author" && isLong(), why };
  }
  if (typeof stated.epsilon !== "number" || !stated.for_release) return { amount: null, open: false, why: "Nothing is proven of this, so no budget can pay for it." };
  if (kind !== "author") return { amount: stated.epsilon, open: false, why: "" };
  return may("explain") ? null : { amount: 0, open: true, why: "for each place that is replaced" };
}

/** Look at the account again, after it was charged. */
export function showAccount(account) {
  change({ account });
}

function draw() {
  if (!state.session) return;
  if (!state.session.budget) {
    put(
      at("budget"),
      h("p", { class: "notice" }, h("strong", {}, "No budget. "), "This service keeps none: a release is not charged, and nobody adds up how often a text was released. To have one, start it with --budget."),
    );
    return;
  }
  if (!may("budget")) {
    put(at("budget"), h("p", { class: "notice" }, `${lacking("budget")} A release can still be charged to an account.`), form());
    return;
  }
  put(at("budget"), form(), (answer = h("div", { id: "account", "aria-live": "polite" })));
  update();
}

function form() {
  const kind = h("select", { id: "account-kind" }, WHOM.map(([name]) => h("option", { value: name }, name)));
  const about = h("p", { class: "quiet", id: "account-about" });
  const tell = () => {
    about.textContent = `Of ${WHOM.find(([name]) => name === kind.value)[1]}.`;
  };
  const id = h("input", { id: "account-id", type: "text", autocomplete: "off", spellcheck: "false", maxlength: 1000, placeholder: "note-17" });
  tell();
  const look = () => name({ kind: kind.value, id: id.value.trim() });
  kind.addEventListener("change", () => {
    tell();
    look();
  });
  id.addEventListener("change", look);
  return h(
    "form",
    {
      class: "account",
      onsubmit: (event) => {
        event.preventDefault();
        look();
      },
    },
    h(
      "div",
      { class: "row" },
      h("div", {}, h("label", { for: "account-kind" }, "Account of"), kind),
      h("div", { class: "grow" }, h("label", { for: "account-id" }, "Its id"), id),
      h("button", { type: "submit" }, "Show"),
    ),
    about,
  );
}

/** Another account pays. */
async function name(given) {
  const before = state.accountName;
  if (before && before.kind === given.kind && before.id === given.id && state.account) return;
  change({ accountName: given.id ? given : null, account: null });
  if (!answer) return;
  put(answer);
  if (!given.id || !may("budget")) return;
  const signal = newest.begin();
  try {
    const account = await askPatiently("/v1/budget", given, { signal });
    if (!signal.aborted) change({ account });
  } catch (problem) {
    if (signal.aborted) return;
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 404) put(answer, opening(given));
    else put(answer, h("p", { class: "notice danger" }, said(problem)));
  }
}

function opening(given) {
  if (!may("admin")) {
    return h("p", { class: "notice" }, "There is no such account. ", lacking("admin"));
  }
  const limit = h("input", { id: "limit", type: "number", min: 0, step: "any", inputmode: "decimal", value: "20" });
  const wrong = h("p", { class: "notice danger", role: "alert", hidden: true });
  const send = async (event) => {
    event.preventDefault();
    try {
      const most = limit.value.trim() === "" ? {} : { limit: Number(limit.value) };
      const account = await ask("/v1/accounts", { ...given, ...most }, { method: "PUT" });
      if (state.accountName === given) change({ account });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      wrong.textContent = said(problem);
      wrong.hidden = false;
    }
  };
  return h(
    "form",
    { class: "opening", onsubmit: send },
    h("p", {}, "There is no such account. Open it with a limit, which never changes:"),
    h(
      "div",
      { class: "row" },
      h("div", { class: "grow" }, h("label", { for: "limit" }, "Limit for all releases, ε"), limit),
      h("button", { type: "submit" }, "Open the account"),
    ),
    wrong,
  );
}

function update() {
  if (!answer || !state.account || !answer.isConnected) return;
  put(answer, measured(state.account));
}

/** The meter: what is spent, what is held, what this release would add. */
function measured(account) {
  const cost = costFor(account.kind);
  const amount = cost?.amount ?? 0;
  const most = account.limit;
  const spent = account.spent - account.held;
  const share = (value) => (most ? Math.min(1, value / most) : 0);
  const bar = h("div", { class: "meter", "aria-hidden": "true" }, ["spent", "held", "next"].map((kind) => h("span", { class: kind })));
  for (const [kind, value] of [["spent", spent], ["held", account.held], ["next", amount]]) {
    bar.style.setProperty(`--${kind}`, String(share(value)));
  }
  bar.classList.toggle("over", most !== null && account.spent + amount > most * (1 + 1e-9));
  const rows = [
    ["spent", "Spent", level(spent)],
    account.held > 0 && ["held", "Held by work in progress", level(account.held)],
    ["next", "This release", !cost || cost.amount === null ? "—" : `${cost.open ? "at least " : ""}${levelAtMost(amount)}`],
    ["left", "Left now", most === null ? "no limit" : `${level(account.left)} of ${level(most)}`],
  ].filter(Boolean);
  return h(
    "div",
    {},
    most === null ? null : bar,
    h("dl", { class: "sums" }, rows.map(([kind, title, value]) => h("div", { class: kind }, h("dt", {}, title), h("dd", {}, value)))),
    cost?.why && cost.amount !== null ? h("p", { class: "quiet" }, `This release: ${cost.why}.`) : null,
    statement(account.sentence),
    account.closed ? h("p", { class: "notice warn" }, "This account is closed: nothing more can be charged to it.") : null,
  );
}

/** What holds at the limit; a long sentence is folded. */
function statement(sentence) {
  if (sentence.length < SHORT) return h("p", { class: "quiet" }, sentence);
  return h("details", { class: "exact" }, h("summary", {}, "What holds at the limit"), h("p", {}, sentence));
}
