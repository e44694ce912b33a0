// Numbers as people read them.

const FIXED = "\u00a0"; // a space at which no line ends

/** A chance in percent: "52 %", "0.4 %", "< 0.1 %". */
export function percent(share) {
  const value = share * 100;
  if (value > 0 && value < 0.1) return `<${FIXED}0.1${FIXED}%`;
  if (value < 100 && value > 99.9) return `>${FIXED}99.9${FIXED}%`;
  const digits = value > 0 && (value < 1 || (value > 99 && value < 100)) ? 1 : 0;
  return `${value.toFixed(digits)}${FIXED}%`;
}

/** A level with three digits and no needless zeros. */
export function level(value) {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(3));
  return rounded >= 1000 ? rounded.toLocaleString("en") : String(rounded);
}

/** A level that must not look smaller than it is. */
export function levelAtMost(value) {
  if (value === 0) return "0";
  const step = 10 ** (Math.floor(Math.log10(value)) - 2);
  return level(Math.ceil(value / step - 1e-9) * step);
}

/** "1 word", "2 words", "1,200 words". */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** "a, b and c". */
export function listed(names) {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** A text as it fits into a line of the page. */
export function shortened(text, most = 40) {
  const letters = Array.from(text.replace(/\s+/gu, " ").trim());
  return letters.length <= most ? letters.join("") : `${letters.slice(0, most - 1).join("")}…`;
}
