"use strict";
// Draws the charts of this page from the data in it. Nothing is fetched.
(() => {
  const read = (name) => JSON.parse(document.getElementById(name).textContent);
  const charts = read("charts");
  const colors = new Map(Object.entries(read("colors")).map(([one, other]) => [one.toLowerCase(), other]));
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  // Data may hold a text that looks like a color: they are left alone.
  const exchanged = (value, key) => {
    if (key === "datasets" || key === "values") return value;
    if (typeof value === "string") return colors.get(value.toLowerCase()) ?? value;
    if (Array.isArray(value)) return value.map((one) => exchanged(one));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, exchanged(one, name)]));
  };

  const options = (name) => ({
    renderer: "svg",
    mode: "vega-lite",
    ast: true, // expressions are interpreted: the page's policy lets none be compiled
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: name,
    i18n: { CLICK_TO_VIEW_ACTIONS: "Save this chart" },
  });

  const drawOne = async (holder, look) => {
    const place = holder.querySelector("." + look);
    const name = holder.dataset.chart;
    if (!charts[name] || place.dataset.drawn) return;
    place.dataset.drawn = "yes";
    try {
      await vegaEmbed(place, look === "dark" ? exchanged(charts[name]) : charts[name], options(name));
    } catch (error) {
      place.textContent = "This chart could not be drawn; its data stand below.";
      console.error(name, error);
    }
  };
  const draw = (look) => Promise.all(
    [...document.querySelectorAll("[data-chart]")].map((holder) => drawOne(holder, look)),
  );

  // The light look is always drawn: paper needs it. The dark one when it is first asked for.
  const show = () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    return dark ? draw("dark") : null;
  };

  const button = document.createElement("button");
  button.type = "button";
  button.className = "look";
  button.textContent = "Light or dark";
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.dataset.theme = dark ? "light" : "dark";
    show();
  });
  document.querySelector("nav").append(button);

  // On paper nothing can be opened.
  const data = () => document.querySelectorAll("details.data, details.print");
  window.addEventListener("beforeprint", () => data().forEach((one) => {
    if (!one.open) { one.open = true; one.dataset.opened = "yes"; }
  }));
  window.addEventListener("afterprint", () => data().forEach((one) => {
    if (one.dataset.opened) { one.open = false; delete one.dataset.opened; }
  }));

  system.addEventListener("change", show);
  Promise.all([draw("light"), show()]).then(() => { root.dataset.ready = "yes"; });
})();
