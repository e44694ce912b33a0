// The text: typed, pasted, dropped as a file, or an example.

import { at, show } from "./dom.js";
import { count } from "./numbers.js";
import { partAt, partsOf } from "./offsets.js";
import { change, isBlank, isLong, state, when } from "./store.js";
import { atRest } from "./timing.js";
import { addSensitive } from "./corrections.js";

const LARGEST = 1 << 20; // bytes of a file, letters of a paste
const PAGE = 20_000; // letters in the field at once: with a megabyte in it no browser keeps up
const PAUSE = 250; // milliseconds without a key before anything is computed
const TOO_LARGE = "This is larger than 1 MB. The command line takes files of any size: sfumato privatize.";
const NOTHING = "It stays on this page and in the service's memory; nothing is stored.";
const EXAMPLE = `Dear Dr. Weber,

my name is Maria Rossi, born on 14 March 1984. I was operated on my left knee in Boston on 3 May 2021, and since June the pain has come back whenever I climb stairs.

Please call me at +1 617-555-0154 in the afternoon, or write to maria.rossi@example.org. My policy number is QX-20418, and I live at 12 Main Street, Springfield.

Thank you,
Maria`;

let area;

/** Set up the field and all ways into it. */
export function startText() {
  area = at("text");
  area.addEventListener("input", atRest(PAUSE, readText));
  area.addEventListener("select", offer);
  area.addEventListener("paste", paste);
  for (const event of ["keyup", "pointerup", "focus"]) area.addEventListener(event, follow);
  at("example").addEventListener("click", () => replaceText(EXAMPLE));
  at("clear").addEventListener("click", () => {
    replaceText("");
    area.focus();
  });
  at("open").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", () => {
    const [file] = at("file").files;
    at("file").value = "";
    if (file) open(file);
  });
  at("mark-selection").addEventListener("click", () => {
    addSensitive(selected());
    offer();
  });
  at("page-before").addEventListener("click", () => turn(state.page - 1));
  at("page-after").addEventListener("click", () => turn(state.page + 1));
  acceptDrops();
  when(["pages", "page"], tell);
}

/** Another text in the place of this one. */
function replaceText(text, { crlf = false, name = "" } = {}) {
  complain("");
  change({ crlf, name });
  showPage(split(text), 0);
}

function split(text) {
  return partsOf(text, PAGE).map(([start, end]) => text.slice(start, end));
}

/** Show a page of the text in the field, with the caret at some place of it. */
function showPage(pages, page, caret = 0) {
  area.value = pages[page];
  area.setSelectionRange(caret, caret);
  if (!caret) area.scrollTop = 0;
  const parts = partsOf(pages[page]);
  change({ pages, page, parts, part: partAt(parts, caret), focus: null });
}

function turn(page) {
  readText();
  showPage(state.pages, page);
}

/** Take over what was typed. */
export function readText() {
  const text = area.value;
  if (text === state.pages[state.page]) return;
  complain("");
  const pages = state.pages.with(state.page, text);
  if (text.length > 2 * PAGE) {
    spread(text, area.selectionStart);
    return;
  }
  const parts = partsOf(text);
  change({ pages, parts, part: partAt(parts, area.selectionStart), focus: null });
}

/** A page that has grown too long becomes several. */
function spread(text, caret) {
  const made = split(text);
  let [page, place] = [0, caret];
  while (page < made.length - 1 && place >= made[page].length) {
    place -= made[page].length;
    page += 1;
  }
  const pages = state.pages.toSpliced(state.page, 1, ...made);
  showPage(pages, state.page + page, place);
}

/** What is long never gets into the field as a whole. */
function paste(event) {
  const pasted = (event.clipboardData?.getData("text/plain") ?? "").replace(/\r\n?/g, "\n");
  if (pasted.length < PAGE) return;
  event.preventDefault();
  if (pasted.length > LARGEST) {
    complain(TOO_LARGE);
    return;
  }
  complain("");
  const [from, to] = [area.selectionStart, area.selectionEnd];
  spread(area.value.slice(0, from) + pasted + area.value.slice(to), from);
}

/** The part that is looked at is the one in which somebody writes. */
function follow() {
  offer();
  if (state.parts.length < 2 || area.value !== state.pages[state.page]) return;
  const part = partAt(state.parts, area.selectionStart);
  if (part !== state.part) change({ part, focus: null });
}

function offer() {
  show(at("mark-selection"), selected() !== "");
}

function selected() {
  return area.value.slice(area.selectionStart, area.selectionEnd).trim();
}

function tell() {
  const { pages, page } = state;
  at("text-count").textContent = isBlank() ? NOTHING : said();
  show(at("clear"), !isBlank());
  show(at("example"), isBlank());
  show(at("pages"), pages.length > 1);
  at("page-which").textContent = `page ${page + 1} of ${pages.length}`;
  at("page-before").disabled = page === 0;
  at("page-after").disabled = page >= pages.length - 1;
}

function said() {
  const size = count(state.pages.reduce((sum, one) => sum + one.length, 0), "character");
  const file = state.name ? `${state.name}, ` : "";
  return isLong() ? `${file}${size}; looked at part by part, released as a whole` : `${file}${size}`;
}

async function open(file) {
  if (file.size > LARGEST) {
    complain(TOO_LARGE);
    return;
  }
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    complain("This file is not text in UTF-8.");
    return;
  }
  if (text.includes("\0")) {
    complain("This file is not a text.");
    return;
  }
  const crlf = text.includes("\r\n") && !/[^\r]\n/.test(text);
  replaceText(text.replace(/\r\n?/g, "\n"), { crlf, name: file.name });
}

function complain(message) {
  at("text-problem").textContent = message;
  show(at("text-problem"), message !== "");
}

function acceptDrops() {
  const over = (event) => event.dataTransfer?.types.includes("Files");
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => {
      if (!over(event)) return;
      event.preventDefault();
      area.classList.add("dropping");
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) area.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    area.classList.remove("dropping");
    if (!over(event)) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) open(file);
  });
}
