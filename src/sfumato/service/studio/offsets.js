// Places in a text. The service counts characters (Unicode code points); a browser counts units of
// UTF-16, of which an emoji has two.

export const PART = 2000;
// How far back from the end of a part a good place to cut is looked for.
const SLACK = 0.4;
const CUTS = [/\n\s*\n/g, /\n/g, /[.!?…。！？]\s/g, /\s/g];

/** For each character of a text the unit at which it begins; the last entry is the text's length. */
export function unitsOf(text) {
  const units = [];
  for (let place = 0; place < text.length; place += text.codePointAt(place) > 0xffff ? 2 : 1) {
    units.push(place);
  }
  units.push(text.length);
  return units;
}

/** Where the parts of a long text begin and end: at paragraphs, lines, sentences or words. */
export function partsOf(text, most = PART) {
  const parts = [];
  let start = 0;
  while (text.length - start > most) {
    const end = cutBefore(text, start, start + most);
    parts.push([start, end]);
    start = end;
  }
  parts.push([start, text.length]);
  return parts;
}

/** The number of the part that holds a place. */
export function partAt(parts, place) {
  let low = 0;
  let high = parts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (parts[middle][0] <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}

function cutBefore(text, start, most) {
  const from = most - Math.floor((most - start) * SLACK);
  const tail = text.slice(from, most);
  for (const cut of CUTS) {
    const last = Array.from(tail.matchAll(cut)).at(-1);
    if (last) return from + last.index + last[0].length;
  }
  const unit = text.charCodeAt(most);
  const inside = unit >= 0xdc00 && unit <= 0xdfff; // the second half of a character
  return inside ? most - 1 : most;
}
