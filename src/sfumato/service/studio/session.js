// Who is asking: the token, what it allows, and whether the service can be reached.

import { ask, askPatiently, hasToken, Problem, tokenFromAddress, useToken } from "./api.js";
import { at, show } from "./dom.js";
import { change } from "./store.js";
import { said } from "./wording.js";

/** Take the token from the address, or ask for one. */
export function startSession() {
  tokenFromAddress();
  window.addEventListener("hashchange", () => {
    if (tokenFromAddress()) enter();
  });
  at("entry").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = at("entry-token");
    useToken(field.value);
    field.value = "";
    enter();
  });
  return enter();
}

/** Show whether the service answers; a token that no longer works is asked for again. */
export function connected(reached, problem = null) {
  const line = at("connection");
  line.classList.toggle("away", !reached);
  line.textContent = reached ? (problem?.passes ? "The service is busy; waiting…" : "") : "The service does not answer; trying again…";
  if (problem?.status === 401) askForToken(said(problem));
}

/** Ask for a token, and say why; what was written stays. */
export function askForToken(why) {
  if (why) at("entry-why").textContent = why;
  show(at("entry"), true);
  at("entry-token").focus();
}

async function enter() {
  if (!hasToken()) {
    askForToken("");
    return;
  }
  alarm("");
  try {
    const session = await askPatiently("/v1/token", undefined, { waiting: (problem) => connected(problem.status !== 0, problem) });
    const catalog = session.rights.includes("analyze")
      ? await Promise.all([ask("/v1/policies"), ask("/v1/mechanisms")])
      : null;
    if (!catalog) {
      alarm("This token lacks the right “analyze”, without which the studio has nothing to offer. Use another one.");
      askForToken("");
      return;
    }
    connected(true);
    show(at("entry"), false);
    show(at("work"), true);
    change({ policies: catalog[0], mechanisms: catalog[1] });
    change({ session });
    document.documentElement.dataset.ready = "yes";
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 401) askForToken(said(problem));
    else {
      alarm(said(problem));
      askForToken("");
    }
  }
}

function alarm(message) {
  at("alarm").textContent = message;
  show(at("alarm"), message !== "");
}
