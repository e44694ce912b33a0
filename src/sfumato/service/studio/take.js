// Settings to take along: a file for --config, lists of words, and the command that does the same.

import { at, h, put } from "./dom.js";
import { beside, save } from "./files.js";
import { choices, state, when } from "./store.js";

const SETTINGS = "sfumato.toml";
const WORDS = "words.txt";
const EXCEPTIONS = "exceptions.txt";

/** Follow the settings. */
export function startTake() {
  when(["policy", "mechanism", "levels", "leveled", "lexicon", "allowed", "mechanisms", "name"], draw);
}

/** The settings file of these choices. */
export function settingsFile(made) {
  const lines = [
    "# Made in the sfumato studio. Use it with: sfumato privatize IN -o OUT --config sfumato.toml",
    "",
    "[privatize]",
    `policy = [${policies(made).map(quoted).join(", ")}]`,
  ];
  if (made.allow_list) lines.push(`except = [${quoted(`lexicon:${EXCEPTIONS}`)}]`);
  lines.push(`mechanism = ${quoted(made.mechanism)}`);
  if (made.epsilon !== undefined) lines.push(`epsilon = ${decimal(made.epsilon)}`);
  lines.push("whole_file = true  # a text file is one document, as it is in the studio");
  return `${lines.join("\n")}\n`;
}

/** The command line of these choices. */
export function commandLine(made, name) {
  const parts = [`sfumato privatize ${shell(name || "text.txt")} -o ${shell(beside(name, "soft"))} --whole-file`];
  for (const one of policies(made)) parts.push(`--policy ${shell(one)}`);
  if (made.allow_list) parts.push(`--except ${shell(`lexicon:${EXCEPTIONS}`)}`);
  parts.push(`--mechanism ${shell(made.mechanism)}`);
  if (made.epsilon !== undefined) parts.push(`--epsilon ${decimal(made.epsilon)}`);
  return parts.join(" ");
}

function policies(made) {
  return [made.policy, ...(made.lexicon ? [`lexicon:${WORDS}`] : [])];
}

function quoted(text) {
  return JSON.stringify(text);
}

function decimal(number) {
  return Number.isInteger(number) ? `${number}.0` : String(number);
}

function shell(text) {
  return /^[\w.:/=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function draw() {
  const made = choices();
  const command = commandLine(made, state.name);
  const copied = h("span", { role: "status", class: "quiet" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      copied.textContent = "Copied.";
    } catch {
      copied.textContent = "Select it and copy it by hand.";
    }
  };
  const list = (entries) => `${entries.join("\n")}\n`;
  put(
    at("take-body"),
    h("p", {}, "The same on the command line:"),
    h("pre", { tabindex: "0", role: "region", "aria-label": "The command line" }, h("code", { id: "command" }, command)),
    h("p", {}, "Or as a settings file, for ", h("code", {}, "--config"), made.lexicon || made.allow_list ? "; the lists of words lie beside it:" : ":"),
    h(
      "div",
      { class: "row" },
      h("button", { type: "button", onclick: copy }, "Copy the command"),
      h("button", { type: "button", onclick: () => save(SETTINGS, settingsFile(made)) }, `Save ${SETTINGS}`),
      made.lexicon && h("button", { type: "button", onclick: () => save(WORDS, list(made.lexicon)) }, `Save ${WORDS}`),
      made.allow_list && h("button", { type: "button", onclick: () => save(EXCEPTIONS, list(made.allow_list)) }, `Save ${EXCEPTIONS}`),
      copied,
    ),
    made.lexicon || made.allow_list ? h("p", { class: "quiet" }, "Lists of words may be private themselves: keep them where you keep the text.") : null,
  );
}
