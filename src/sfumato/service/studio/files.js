// Files for the user: made here, saved by the browser.

import { h } from "./dom.js";

/** Save a text as a file. */
export function save(name, content, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
  const link = h("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** The name of a file of which another is made: notes.txt, soft → notes.soft.txt. */
export function beside(name, what) {
  const stem = (name || "text").replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}._-]+/gu, "-");
  return `${stem}.${what}.txt`;
}
