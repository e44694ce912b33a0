// Waiting, and doing only the last of many things.

/** Some seconds; ends at once, with an error, if it is called off. */
export function wait(seconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A function that does its work some milliseconds after it was last called, unless called off. */
export function atRest(milliseconds, work) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(work, milliseconds, ...given);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Only the newest of several tasks goes on: each that begins calls off the one before. */
export class Newest {
  #controller = null;

  begin() {
    this.stop();
    this.#controller = new AbortController();
    return this.#controller.signal;
  }

  stop() {
    this.#controller?.abort();
    this.#controller = null;
  }
}
