// What went wrong, said to people: what happened, what it means for their text, what to do next.

const RIGHTS = {
  analyze: "finds what is sensitive",
  release: "releases texts",
  explain: "shows previews",
  budget: "reads accounts",
  admin: "opens accounts",
};

/** A problem in one or two sentences. */
export function said(problem) {
  const detail = begun(problem.message);
  switch (problem.status) {
    case 0:
      return "The service does not answer. Your text is still here; check that it runs.";
    case 401:
      return "The token is missing, was taken back, or its time is over.";
    case 403:
      return `${detail} Ask whoever runs the service for a token that has it.`;
    case 404:
      return problem.type === "MissingAccount" ? "There is no such account yet." : detail;
    case 409:
      return problem.type === "BudgetExceeded" ? `Nothing was released or charged: ${problem.message}` : detail;
    case 410:
      return "This release was charged, and its output is no longer kept. A new release costs again.";
    case 413:
      return `${detail} Take a shorter text, or the command line.`;
    case 422:
      return problem.errors.length ? `The service does not take this: ${places(problem.errors)}.` : detail;
    case 429:
      return "Too many requests with this token. Wait a moment.";
    case 503:
      return "The service is busy. Wait a moment.";
    case 504:
      return "It took too long; nothing was released or charged. Take a shorter text.";
    default:
      return detail;
  }
}

/** That a token lacks a right, and what that means here. */
export function lacking(right) {
  return `This token lacks the right “${right}”, which ${RIGHTS[right]}.`;
}

function places(errors) {
  return errors
    .map((one) => `${one.where.filter((part) => part !== "body").join(".") || "the body"} (${one.kind.replaceAll("_", " ")})`)
    .join(", ");
}

/** A message of the service, which may speak of settings as Python does, as a sentence. */
export function begun(message) {
  const plain = message.replace(/`([\w.]+)=[^`]*`/g, "“$1”").replace(/`([^`]*)`/g, "“$1”");
  const first = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}
