"use strict";

// Charts by Observable Plot: it draws, we say what.
const Charts = {
  /** Return marks and domains of one chart by the id of its figure; null where there is nothing to draw. */
  samples(width) {
    const rows = DATA.comparison.rows.filter((row) => row.latency_ms);
    if (!rows.length) return null;
    const points = rows.flatMap((row) => row.rounds.flatMap((round, i) => round.map((ms) => ({ name: row.name, ms, round: i + 1 }))));
    const intervals = rows.map(({ name, latency_ms: [ms, low, high], answer }) => ({ name, ms, low, high, answer }));
    const opacity = Math.max(0.06, Math.min(0.35, (40 * rows.length) / points.length)); // so that many are no black bar
    const colour = (row) => (row.answer ? "var(--accent)" : "var(--quiet)");
    return Plot.plot({
      width, height: 46 * rows.length + 60, marginLeft: margin(width), marginRight: 20, marginBottom: 40,
      x: { label: "latency in ms", grid: true, nice: true, labelAnchor: "center" },
      y: { label: null, domain: rows.map((row) => row.name), tickFormat: shortened(width) },
      marks: [
        Plot.tickX(points, { x: "ms", y: "name", strokeOpacity: opacity, channels: { round: "round" }, tip: { format: { y: false } } }),
        Plot.ruleY(intervals, { x1: "low", x2: "high", y: "name", stroke: colour, strokeWidth: 5 }),
        Plot.dot(intervals, { x: "ms", y: "name", r: 6, fill: colour, stroke: "var(--card)", strokeWidth: 1.5 }),
      ],
    });
  },

  steps(width) {
    const { why } = DATA;
    if (!why) return null;
    let at = why.device_ms;
    const rows = [{ label: `all on ${why.device}`, from: 0, to: at, kind: "total" }];
    for (const { label, ms } of why.steps) {
      rows.push({ label, from: at, to: at + ms, kind: ms < 0 ? "saves" : "costs" });
      at += ms;
    }
    rows.push({ label: why.subject, from: 0, to: why.subject_ms, kind: "total" });
    const ms = (row) => (row.kind === "total" ? Format.ms(row.to) : `${row.to > row.from ? "+" : "−"}${Format.ms(Math.abs(row.to - row.from))}`);
    return Plot.plot({
      width, height: 34 * rows.length + 60, marginLeft: margin(width), marginRight: 84, marginBottom: 40,
      x: { label: "predicted ms", grid: true, labelAnchor: "center" }, y: { label: null, domain: rows.map((row) => row.label), tickFormat: shortened(width) },
      color: { domain: ["total", "saves", "costs"], range: ["var(--quiet)", "var(--good)", "var(--copy)"], legend: true },
      marks: [
        Plot.barX(rows, { x1: "from", x2: "to", y: "label", fill: "kind", insetTop: 4, insetBottom: 4 }),
        Plot.text(rows, { x: (row) => Math.max(row.from, row.to), y: "label", text: ms, textAnchor: "start", dx: 6 }),
        Plot.ruleX([0]),
      ],
    });
  },

  lanes(width) {
    const bars = DATA.timeline.lanes.flatMap(({ label, parts, ms, device, submodels }) => {
      let at = 0;
      return ms.flatMap((times, stage) => parts.map((part, i) => {
        const from = at;
        at += times[i];
        const name = `submodel ${submodels[stage].map((number) => number + 1).join(" + ")}`;
        return { lane: label, from, to: at, what: part === "run" ? device[stage] : part, submodel: name, ms: times[i] };
      }));
    }).filter((bar) => bar.ms > 0);
    if (!bars.length) return null;
    const { devices } = DATA.graph;
    return Plot.plot({
      width, height: 56 * DATA.timeline.lanes.length + 60, marginLeft: margin(width), marginRight: 20, marginBottom: 40,
      x: { label: "ms", grid: true, labelAnchor: "center" }, y: { label: null, tickFormat: shortened(width) },
      color: { domain: [...devices, "copies"], range: [...devices.map((_, i) => `var(${Theme.device(i)})`), "var(--copy)"], legend: true },
      marks: [
        Plot.barX(bars, {
          x1: "from", x2: "to", y: "lane", fill: "what", stroke: "var(--card)", strokeWidth: 0.7, insetTop: 6, insetBottom: 6,
          channels: { submodel: "submodel", duration: (bar) => Format.ms(bar.ms) },
          tip: { format: { x: false, x1: false, x2: false, y: false } },
        }),
      ],
    });
  },

  trials(width) {
    if (!DATA.history) return null;
    const { number, ratio, best, origin, cached, on_devices: devices, failure } = DATA.history;
    const trials = number.map((trial, i) => ({ trial, ratio: ratio[i], best: best[i], origin: origin[i], cached: cached[i], devices: devices[i], failure: failure[i] }));
    if (!trials.length) return null;
    const ran = trials.filter((trial) => trial.ratio !== null);
    const failed = trials.filter((trial) => trial.ratio === null);
    const top = Math.max(1, ...ran.map((trial) => trial.ratio));
    return Plot.plot({
      width, height: 300, marginLeft: 50, marginBottom: 40,
      x: { label: "trial", nice: true, labelAnchor: "center", tickFormat: "d" }, color: { legend: true, label: "origin" },
      y: { label: "latency ratio", grid: true, type: top > 6 ? "log" : "linear", nice: true },
      marks: [
        Plot.ruleY([1], { stroke: "var(--quiet)", strokeDasharray: "4 3" }),
        Plot.line(trials.filter((trial) => trial.best !== null), { x: "trial", y: "best", curve: "step-after", stroke: "var(--accent)", strokeWidth: 2 }),
        Plot.dot(ran, { x: "trial", y: "ratio", fill: "origin", r: 3.5, fillOpacity: (trial) => (trial.cached ? 0.35 : 0.85), channels: { devices: "devices", cached: "cached" }, tip: { lineWidth: 34 } }),
        Plot.dot(failed, { x: "trial", y: top, symbol: "times", stroke: "var(--bad)", r: 5, title: (trial) => `trial ${trial.trial} failed\n${trial.failure}`, tip: { lineWidth: 34 } }),
      ],
    });
  },

  agreement(width) {
    const { prediction } = DATA;
    if (!prediction) return null;
    const rows = prediction.trial.map((trial, i) => ({ trial, predicted: prediction.predicted_ms[i], measured: prediction.measured_ms[i] }));
    const all = rows.flatMap((row) => [row.predicted, row.measured]);
    const ends = [Math.min(...all) * 0.95, Math.max(...all) * 1.05];
    const type = ends[1] / ends[0] > 6 ? "log" : "linear";
    return Plot.plot({
      width: Math.min(width, 620), height: Math.min(width, 620) * 0.66, marginLeft: 50, marginBottom: 40, grid: true,
      x: { label: "predicted ms", domain: ends, type, labelAnchor: "center" }, y: { label: "measured ms", domain: ends, type },
      marks: [
        Plot.line([[ends[0], ends[0]], [ends[1], ends[1]]], { stroke: "var(--quiet)", strokeDasharray: "4 3" }),
        Plot.dot(rows, { x: "predicted", y: "measured", fill: "var(--accent)", fillOpacity: 0.7, r: 4, channels: { trial: "trial" }, tip: true }),
      ],
    });
  },

  /** Draw all charts as wide as their figures. */
  draw() {
    for (const name of ["samples", "steps", "lanes", "trials", "agreement", "ratios", "progress"]) {
      const figure = document.getElementById(name);
      const chart = figure && Charts[name](figure.clientWidth);
      if (chart) figure.replaceChildren(chart);
    }
    for (const figure of document.querySelectorAll("figure.place")) {
      const chart = Charts.place(figure.clientWidth, Number(figure.dataset.place));
      if (chart) figure.replaceChildren(chart);
    }
  },

  start() {
    Charts.draw();
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) Charts.draw();
      width = innerWidth;
    });
  },
};

/** Return the room of names beside a chart. */
function margin(width) {
  return Math.min(220, 0.38 * width);
}

/** Return a function that cuts names to what fits the margin. */
function shortened(width) {
  const most = Math.floor((margin(width) - 10) / 6.8);
  return (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);
}
