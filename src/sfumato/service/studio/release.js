// Releasing: a question that states the cost, one request under one key, two files.
//
// The key and the request are made once, when the question is answered. Whatever happens to the
// connection, the same request is sent under the same key: an account pays once.

import { ask, Problem } from "./api.js";
import { at, h, put, show } from "./dom.js";
import { count, level, levelAtMost } from "./numbers.js";
import { beside, save } from "./files.js";
import { CHOSEN, choices, epsilon, isBlank, may, state, statedNow, when, wholeText } from "./store.js";
import { costFor, showAccount } from "./budget.js";
import { connected } from "./session.js";
import { readText } from "./text.js";
import { begun, lacking, said } from "./wording.js";

let unanswered = null; // a release of which it is not known whether it was charged
let sending = false;
const before = new Set(); // texts that were released from this page

/** Set up the button, the question and what follows. */
export function startRelease() {
  at("release").addEventListener("click", () => {
    readText(); // also what was typed a moment ago
    if (hindrance() === "") question(freshRelease());
  });
  when([...CHOSEN, "session", "account", "accountName", "stated", "found"], update);
  window.addEventListener("beforeunload", (event) => {
    if (unanswered || sending) event.preventDefault();
  });
  update();
}

function freshRelease() {
  const { account, accountName, crlf } = state;
  const text = wholeText();
  const sent = crlf ? text.replaceAll("\n", "\r\n") : text;
  const body = { ...choices(), text: sent, ...(accountName ? { account: accountName } : {}) };
  const cost = accountName ? costFor(accountName.kind) : null;
  return { key: randomKey(), body, account, cost, name: state.name, level: epsilon(), stated: statedNow() };
}

/** Why nothing can be released now; empty if something can. */
function hindrance() {
  const { session, account, accountName } = state;
  const stated = statedNow();
  if (!session) return "";
  if (!may("release")) return lacking("release");
  if (isBlank()) return "There is no text yet.";
  if (!stated) return state.stated ? "…" : "With these settings nothing can be released.";
  if (accountName && may("budget") && !account) return "Open the account first, or name another.";
  if (session.budget && !session.uncharged && !accountName && costs(stated)) {
    return "This service charges its releases: name the account that pays.";
  }
  if (accountName) {
    const cost = costFor(accountName.kind);
    if (!cost) return "What it costs is not known yet.";
    if (cost.amount === null) return begun(cost.why);
    if (account && account.limit !== null && account.spent + cost.amount > account.limit * (1 + 1e-9)) {
      return "This release costs more than the account has left.";
    }
  }
  return "";
}

function costs(stated) {
  return stated.epsilon !== 0;
}

function update() {
  const why = hindrance();
  at("release").disabled = why !== "" || unanswered !== null;
  put(at("cost"), why ? h("p", { class: "quiet" }, why) : null);
}

/** The question before anything is sent. */
function question(release) {
  const dialog = at("confirm");
  const wrong = h("p", { class: "notice danger", role: "alert", hidden: true });
  const go = h("button", { class: "main", type: "button", onclick: () => send(release, go, wrong) }, verb(release));
  put(
    dialog,
    h("h2", { id: "confirm-title" }, "Release this text?"),
    h("p", {}, "What is released cannot be taken back. It is drawn anew: it will differ from the preview."),
    h("dl", { class: "facts" }, facts(release).map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value)))),
    before.has(release.body.text) ? h("p", { class: "notice warn" }, "You released this text before. Whoever sees both learns more than from one.") : null,
    release.stated.for_release ? null : h("p", { class: "notice danger" }, "Nothing is proven of what comes out: do not pass it on as private."),
    release.body.account ? null : h("p", { class: "notice warn" }, uncharged()),
    wrong,
    h("div", { class: "row end" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), go),
  );
  dialog.showModal();
}

function verb({ body, cost }) {
  if (!body.account) return "Release without a charge";
  if (!cost || cost.open) return "Release and charge";
  return cost.amount === 0 ? "Release for nothing" : `Release for ε ${levelAtMost(cost.amount)}`;
}

function facts({ body, account, cost, level: chosen }) {
  const rows = [
    ["Text", count(Array.from(body.text).length, "character")],
    ["Sensitive", corrected(body)],
    ["Replaced by", chosen === null ? body.mechanism : `${body.mechanism}, ε ${level(chosen)}`],
  ];
  if (!body.account) return rows;
  rows.push(["Account", `${body.account.kind}: ${body.account.id}`]);
  if (cost && cost.amount !== null) {
    rows.push(["Cost", `${cost.open ? "at least " : ""}ε ${levelAtMost(cost.amount)}${cost.why ? ` (${cost.why})` : ""}`]);
  }
  if (account && account.limit !== null && cost) {
    rows.push(["Left afterwards", `${cost.open ? "at most " : ""}ε ${level(Math.max(0, account.left - cost.amount))} of ${level(account.limit)}`]);
  }
  return rows;
}

function corrected({ policy, lexicon = [], allow_list = [] }) {
  const more = lexicon.length ? `, ${count(lexicon.length, "word")} of yours` : "";
  const less = allow_list.length ? `, but for ${count(allow_list.length, "exception")}` : "";
  return `${policy}${more}${less}`;
}

function uncharged() {
  return state.session.budget
    ? "No account is named, so nothing is charged and nobody adds up what this release gives away."
    : "This service keeps no budget: nothing is charged, and nobody adds up what this release gives away. Each further release of the same text gives away as much again.";
}

async function send(release, button, wrong) {
  if (sending) return;
  sending = true;
  button.disabled = true;
  button.textContent = "Releasing…";
  wrong.hidden = true;
  try {
    const made = await ask("/v1/privatize", release.body, { key: release.key });
    unanswered = null;
    connected(true);
    at("confirm").close();
    finish(release, made);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const open = problem.status === 0 || problem.status >= 500;
    unanswered = open && problem.status !== 504 ? release : null;
    wrong.textContent = unanswered
      ? `${said(problem)} It is not known whether this release was charged. Sent again under the same key it is charged once at most.`
      : said(problem);
    wrong.hidden = false;
    button.disabled = false;
    button.textContent = unanswered ? "Send it again" : verb(release);
    if (problem.status === 401) {
      at("confirm").close();
      connected(true, problem);
    }
  } finally {
    sending = false;
    remind();
    update();
  }
}

/** A release without an answer stays on the page until it has one. */
function remind() {
  show(at("unanswered"), unanswered !== null);
  if (!unanswered) return;
  const release = unanswered;
  put(
    at("unanswered"),
    h("p", {}, "A release has had no answer; it may have been charged. Its key is ", h("code", {}, release.key), "."),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", onclick: () => question(release) }, "Send it again"),
      h("button", { type: "button", onclick: forget }, "Leave it"),
    ),
  );
}

function forget() {
  unanswered = null;
  remind();
  update();
}

function finish(release, made) {
  before.add(release.body.text);
  if (made.budget && state.accountName === release.body.account) showAccount(made.budget);
  const name = beside(release.name, "soft");
  const text = () => save(name, made.text);
  const guarantee = () => save(`${name}.guarantee.json`, written(release, made), "application/json");
  const charged = made.budget ? `ε ${levelAtMost(made.budget.charged)} was charged${made.repeated ? " before, and not again" : ""}.` : "Nothing was charged.";
  put(
    at("released"),
    h("h2", { id: "released-title" }, "Released"),
    h("p", {}, `${charged} ${places(made.counts)} Two files were saved: the text and its guarantee.`),
    h("div", { class: "marked out", dir: "auto", tabindex: "0", role: "region", "aria-label": "The released text" }, excerpt(made.text)),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", onclick: text }, "Save the text again"),
      h("button", { type: "button", onclick: guarantee }, "Save the guarantee again"),
    ),
  );
  show(at("released"), true);
  at("released").focus();
  text();
  guarantee();
}

function places(counts) {
  const where = count(counts.replaced_places, "place");
  return "privatized_words" in counts
    ? `${count(counts.privatized_words, "word")} of ${counts.words.toLocaleString("en")} went through the mechanism.`
    : `${where} ${counts.replaced_places === 1 ? "was" : "were"} replaced.`;
}

/** The file beside the text: what is guaranteed, and with which settings; no word of any list. */
function written({ body }, made) {
  const { counts, budget } = made;
  const { summary, sentence, ...guarantee } = made.guarantee;
  const settings = { policy: body.policy, mechanism: body.mechanism, epsilon: body.epsilon ?? null };
  const paid = budget ? { charged: budget.charged, kind: budget.kind, measure: budget.measure } : null;
  return `${JSON.stringify({ for_release: guarantee.for_release, summary, sentence, guarantee, settings, counts, budget: paid }, null, 2)}\n`;
}

function excerpt(text) {
  const letters = Array.from(text.slice(0, 8000));
  return letters.length <= 2000 ? text : `${letters.slice(0, 2000).join("")}…`;
}

function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
}
