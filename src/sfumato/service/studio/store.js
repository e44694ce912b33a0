// What the page knows, in memory alone. Whoever changes something says so, and all who asked hear it.

const known = {
  pages: [""], // the text, in pieces that a field can hold
  page: 0,
  crlf: false, // lines of the file ended as on Windows
  name: "", // of the file that was dropped
  parts: [[0, 0]], // of the page: pieces that can be looked at quickly
  part: 0,
  policies: [],
  mechanisms: [],
  policy: "pii",
  mechanism: "auto",
  levels: {}, // by mechanism: each remembers its own
  leveled: {}, // where a level is optional: whether one is chosen
  lexicon: [],
  allowed: [],
  stated: null, // a guarantee, and the choices that it is about
  found: null, // the answer of the last preview, with the text that it is about
  view: "marks",
  focus: null, // the word in focus: where it begins, and how it is written
  compared: ["laplace", "exponential"],
  session: null, // rights, whether there is a budget
  account: null, // the account as it stands
  accountName: null,
};

/** What a guarantee, a preview and a cost are about. */
export const CHOSEN = ["pages", "page", "parts", "part", "policy", "mechanism", "levels", "leveled", "lexicon", "allowed"];

const listeners = [];

/** What is known now; to be read only. */
export const state = known;

/** Change some of it, and tell those who asked. */
export function change(news) {
  const changed = Object.keys(news).filter((name) => known[name] !== news[name]);
  if (!changed.length) return;
  Object.assign(known, news);
  for (const [names, listener] of listeners) {
    if (names.some((name) => changed.includes(name))) listener();
  }
}

/** Be told when any of these changes. */
export function when(names, listener) {
  listeners.push([names, listener]);
}

/** Whether the token has a right. */
export function may(right) {
  return known.session !== null && known.session.rights.includes(right);
}

/** The mechanism that is chosen, as the catalog describes it. */
export function mechanism(name = known.mechanism) {
  return known.mechanisms.find((one) => one.name === name) ?? null;
}

/** The level that is sent, or null where none is. */
export function epsilon() {
  const chosen = mechanism();
  if (!chosen || chosen.level === "none") return null;
  if (chosen.level === "optional" && !known.leveled[chosen.name]) return null;
  return known.levels[chosen.name] ?? null;
}

/** Policy, mechanism, level and corrections, as the service takes them. */
export function choices() {
  const made = { policy: known.policy, mechanism: known.mechanism };
  const level = epsilon();
  if (level !== null) made.epsilon = level;
  if (known.lexicon.length) made.lexicon = known.lexicon;
  if (known.allowed.length) made.allow_list = known.allowed;
  return made;
}

/** The choices in one spelling, to tell whether an answer is about them. */
export function spelledChoices() {
  return JSON.stringify(choices());
}

/** The guarantee of the choices as they are now; null while it is not known. */
export function statedNow() {
  return known.stated?.of === spelledChoices() ? known.stated : null;
}

/** The preview of what is in the field and chosen now; null while it is not known. */
export function foundNow() {
  const { found } = known;
  return found?.about === visibleText() && found.choices === spelledChoices() ? found : null;
}

/** The part of the text that is looked at. */
export function visibleText() {
  const [start, end] = known.parts[known.part] ?? [0, 0];
  return known.pages[known.page].slice(start, end);
}

/** All of the text. */
export function wholeText() {
  return known.pages.join("");
}

/** Whether there is nothing but white space. */
export function isBlank() {
  return known.pages.every((one) => one.trim() === "");
}

/** Whether more than a part of it is there. */
export function isLong() {
  return known.pages.length > 1 || known.parts.length > 1;
}
