// Elements from plain values. Text is always text: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick`, …) and children; null children are left out. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for a drawing. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Put other children into an element. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat().filter(isThere));
}

/** The element of an id, which the page has. */
export function at(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** Show an element, or take it out of the page for everybody. */
export function show(element, shown) {
  element.hidden = !shown;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter(isThere));
  return element;
}

function isThere(child) {
  return child !== null && child !== undefined && child !== false;
}
