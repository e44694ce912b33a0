// Asking the service. The token lives here, in memory, and nowhere else.

import { wait } from "./timing.js";

const PATIENCE = 8; // how often a service that is busy is asked again
let token = "";

/** An error as the service tells it (RFC 9457); status 0 is a service that does not answer. */
export class Problem extends Error {
  constructor(status, told, retryAfter = null) {
    super(told.detail ?? told.title ?? "an error");
    this.status = status;
    this.type = told.type ?? "";
    this.errors = told.errors ?? [];
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may well succeed a little later. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

/** Take the token out of the address, so that no bookmark, history or picture of the page has it. */
export function tokenFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return false;
  history.replaceState(null, "", location.pathname);
  token = given.trim();
  return true;
}

/** Use another token. */
export function useToken(given) {
  token = given.trim();
}

export function hasToken() {
  return token !== "";
}

/** Ask once. `key` makes a release that is sent twice one release. */
export async function ask(path, body = undefined, { method, signal, key } = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response;
  let text;
  try {
    response = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
      credentials: "omit",
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, { type: "NoAnswer", detail: "the service does not answer" });
  }
  const told = read(text);
  if (response.ok) return told;
  throw new Problem(response.status, told ?? {}, Number(response.headers.get("Retry-After")) || null);
}

/** Ask for something that changes nothing, again and again: while the service is away, and for some
 * time while it is busy. */
export async function askPatiently(path, body, { signal, method, waiting = () => {} } = {}) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask(path, body, { signal, method });
    } catch (problem) {
      if (!(problem instanceof Problem) || !problem.passes) throw problem;
      if (problem.status !== 0 && tries >= PATIENCE) throw problem;
      waiting(problem);
      await wait(problem.retryAfter ?? Math.min(8, 0.5 * 2 ** tries), signal);
    }
  }
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
