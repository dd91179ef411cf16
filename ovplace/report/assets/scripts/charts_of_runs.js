"use strict";

// Charts of the pages of several runs: side by side, and of an ablation.
Object.assign(Charts, {
  /** Return the variants of one model and machine. */
  place(width, index) {
    const rows = DATA.places[index].variants.filter((row) => row.found_to_single).map(({ name, found_to_single: [value, low, high] }) => ({ name, value, low, high }));
    return rows.length ? Charts.intervals(width, rows, "best found over the best single device") : null;
  },

  /** Return estimates with their intervals, one row each. */
  intervals(width, rows, label) {
    return Plot.plot({
      width, height: 34 * rows.length + 60, marginLeft: margin(width), marginRight: 20, marginBottom: 40,
      x: { label, grid: true, nice: true, labelAnchor: "center" },
      y: { label: null, domain: rows.map((row) => row.name), tickFormat: shortened(width) },
      marks: [
        Plot.ruleX([1], { stroke: "var(--quiet)", strokeDasharray: "4 3" }),
        Plot.ruleY(rows, { x1: "low", x2: "high", y: "name", stroke: "var(--accent)", strokeWidth: 4 }),
        Plot.dot(rows, { x: "value", y: "name", r: 6, fill: "var(--accent)", stroke: "var(--card)", tip: true }),
      ],
    });
  },

  ratios(width) {
    const rows = DATA.runs.filter((run) => run.ratio).map(({ name, ratio: [value, low, high] }) => ({ name, value, low, high }));
    return rows.length ? Charts.intervals(width, rows, "ratio to the best baseline") : null;
  },

  progress(width) {
    const points = DATA.runs.flatMap(({ name, best }) => best.map((ratio, trial) => ({ run: name, trial, ratio })));
    if (!points.length) return null;
    return Plot.plot({
      width, height: 320, marginLeft: 50, marginBottom: 40, color: { legend: true, label: "run" },
      x: { label: "trial", nice: true, labelAnchor: "center", tickFormat: "d" }, y: { label: "lowest latency ratio", grid: true, nice: true },
      marks: [
        Plot.ruleY([1], { stroke: "var(--quiet)", strokeDasharray: "4 3" }),
        Plot.line(points.filter((point) => point.ratio !== null), { x: "trial", y: "ratio", stroke: "run", curve: "step-after", strokeWidth: 2, tip: true }),
      ],
    });
  },
});
