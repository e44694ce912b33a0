"use strict";
// Draws the charts of this page from the data in it, and shows what terms mean. Nothing is fetched.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  const options = (name) => ({
    renderer: "svg",
    mode: "vega-lite",
    ast: true, // expressions are interpreted: the page's policy lets none be compiled
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: name,
    i18n: { CLICK_TO_VIEW_ACTIONS: "Save this chart" },
  });

  // On a narrow screen panels stand below each other and are as wide as the page.
  const ROOM = 130; // for the axis and for names beside a panel
  const narrowed = (spec, width) => {
    if (Array.isArray(spec)) return spec.map((one) => narrowed(one, width));
    if (spec === null || typeof spec !== "object") return spec;
    const changed = {};
    for (const [key, one] of Object.entries(spec)) {
      if (key === "datasets" || key === "values" || key === "data" || key === "encoding") changed[key] = one;
      else if (key === "width" && typeof one === "number") changed[key] = Math.min(one, width - ROOM);
      else if (key === "hconcat") changed.vconcat = narrowed(one, width);
      else if (key === "columns") changed.columns = 1;
      else if (key === "labelLimit") changed.labelLimit = Math.min(one, 110);
      else changed[key] = narrowed(one, width);
    }
    return changed;
  };

  const draw = async (holder) => {
    const name = holder.dataset.chart;
    const width = document.querySelector("main").clientWidth;
    const spec = { ...charts[name], background: null };
    if (spec.config) spec.config = { ...spec.config, background: null };
    try {
      await vegaEmbed(holder, width < 640 ? narrowed(spec, width) : spec, options(name));
      // A mark without words of its own is part of the chart, which has some.
      for (const mark of holder.querySelectorAll("[role=graphics-symbol]:not([aria-label])")) {
        mark.removeAttribute("role");
        mark.removeAttribute("aria-roledescription");
      }
      holder.querySelector("summary")?.setAttribute("aria-label", "Save this chart");
      // A chart that is wider than its box scrolls, also by keyboard.
      const box = holder.querySelector(".chart-wrapper");
      if (box) { box.tabIndex = 0; box.setAttribute("role", "group"); box.setAttribute("aria-label", "Chart"); }
    } catch (error) {
      holder.textContent = "This chart could not be drawn; its data stand below.";
      console.error(name, error);
    }
  };

  // What a term means is shown beside it; without this script a click shows it as well.
  const place = (button, meaning) => {
    const at = button.getBoundingClientRect();
    const width = Math.min(352, innerWidth - 24);
    meaning.style.width = `${width}px`;
    meaning.style.left = `${Math.max(12, Math.min(at.left, innerWidth - width - 12))}px`;
    const below = at.bottom + 6;
    const above = at.top - meaning.offsetHeight - 6;
    meaning.style.top = `${below + meaning.offsetHeight > innerHeight && above > 0 ? above : below}px`;
    meaning.style.bottom = "auto";
  };
  for (const button of document.querySelectorAll("button.term")) {
    const meaning = document.getElementById(button.getAttribute("popovertarget"));
    const show = () => {
      if (!meaning.matches(":popover-open")) meaning.showPopover();
      place(button, meaning);
    };
    const hide = () => { if (meaning.matches(":popover-open")) meaning.hidePopover(); };
    button.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") show(); });
    button.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    button.addEventListener("focus", show);
    button.addEventListener("blur", hide);
    button.addEventListener("click", (event) => { event.preventDefault(); show(); });
  }

  const button = document.createElement("button");
  button.type = "button";
  button.className = "look";
  button.textContent = "Light or dark";
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  document.querySelector("nav").append(button);

  // A link into a closed question opens it.
  const open = () => {
    const to = location.hash && document.getElementById(location.hash.slice(1));
    for (let one = to; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (to) to.scrollIntoView();
  };
  window.addEventListener("hashchange", open);
  document.querySelector("nav").addEventListener("click", () => setTimeout(open));

  // On paper nothing can be opened.
  const data = () => document.querySelectorAll("details.question, details.data, details.print");
  window.addEventListener("beforeprint", () => data().forEach((one) => {
    if (!one.open) { one.open = true; one.dataset.opened = "yes"; }
  }));
  window.addEventListener("afterprint", () => data().forEach((one) => {
    if (one.dataset.opened) { one.open = false; delete one.dataset.opened; }
  }));

  open();
  Promise.all([...document.querySelectorAll("[data-chart]")].map(draw))
    .then(() => { root.dataset.ready = "yes"; });
})();
