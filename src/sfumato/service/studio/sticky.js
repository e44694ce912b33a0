// Settings stay at hand while one reads on. Where they are taller than the window they stick by
// their lower end, so that all of them can be reached.

import { at } from "./dom.js";

/** Tell the style sheet how tall they are. */
export function startSticky() {
  const settings = at("settings");
  new ResizeObserver(([entry]) => {
    const [size] = entry.borderBoxSize;
    settings.style.setProperty("--height", `${Math.ceil(size.blockSize)}px`);
  }).observe(settings);
}
