"use strict";

// The data of the page, and how numbers are written.
const DATA = JSON.parse(document.getElementById("data").textContent);

const Format = {
  ms: (value) => (value === null || value === undefined ? "-" : `${Number(value.toPrecision(3))} ms`),
  bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB"];
    const step = value > 0 ? Math.min(3, Math.floor(Math.log2(value) / 10)) : 0;
    return `${step ? (value / 1024 ** step).toFixed(1) : value} ${units[step]}`;
  },
  count: (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`,
};

/** Return a new element with a text, which is never read as HTML. */
function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const Theme = {
  listeners: [],

  /** Return the present value of a CSS colour variable as `rgb(...)`: canvases know no variables. */
  colour(variable) {
    const probe = element("i", "", { style: `color: var(${variable})` });
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found.replaceAll(" ", ""); // cytoscape separates colours by blanks
  },

  device: (index) => `--device-${index % 6}`,

  isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  },

  start() {
    document.getElementById("theme").addEventListener("click", () => {
      document.documentElement.dataset.theme = Theme.isDark() ? "light" : "dark";
      Theme.tell();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", Theme.tell);
  },

  tell: () => Theme.listeners.forEach((listener) => listener()),
};
