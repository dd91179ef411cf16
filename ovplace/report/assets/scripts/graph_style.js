"use strict";

// Colours and shapes of the graph, from the page's variables.
const GraphStyle = {
  /** Return the fill of an item: its device's colour, or a gradient by the share of each device. */
  colours(devices) {
    const total = devices.reduce((sum, [, count]) => sum + count, 0);
    const variables = devices.map(([device]) => Theme.device(device));
    let at = 0;
    const stops = devices.flatMap(([, count]) => [at, (at += (100 * count) / total)]);
    return { device: variables[0], variables: variables.flatMap((name) => [name, name]), stops };
  },

  rules() {
    const seen = new Map();
    const colour = (name) => seen.get(name) ?? seen.set(name, Theme.colour(name)).get(name);
    const fill = (node) => colour(node.data("device"));
    return [
      { selector: "node", style: {
        shape: "round-rectangle", width: "data(width)", height: "data(height)", label: "data(label)",
        "text-wrap": "wrap", "text-valign": "center", "text-halign": "center", "font-size": 12.5, "line-height": 1.25,
        "font-family": "system-ui, sans-serif", color: colour("--text"), "background-color": fill, "background-opacity": 0.22,
        "border-width": 1.2, "border-color": fill, "min-zoomed-font-size": 6, "z-index-compare": "manual", "z-index": 3 } },
      { selector: "node.box", style: { "border-width": 2, "background-opacity": 0.3 } },
      { selector: "node.mixed", style: {
        "background-fill": "linear-gradient", "background-gradient-direction": "to-right",
        "background-gradient-stop-colors": (node) => node.data("variables").map(colour).join(" "),
        "background-gradient-stop-positions": (node) => node.data("stops").map((stop) => `${stop}%`).join(" ") } },
      { selector: "node.open", style: {
        "text-valign": "top", "text-margin-y": 20, "background-opacity": 0.06, "border-style": "dashed", "border-width": 1.2,
        color: colour("--quiet"), "z-index": 1 } },
      { selector: "node.faded", style: { opacity: 0.15 } },
      { selector: "node.chosen", style: { "border-width": 4, "border-color": colour("--accent") } },
      { selector: "edge", style: {
        width: 1.2, "curve-style": "bezier", "line-color": colour("--quiet"), "target-arrow-color": colour("--quiet"),
        "target-arrow-shape": "triangle", "arrow-scale": 0.8, "line-opacity": 0.6, "z-index-compare": "manual", "z-index": 2 } },
      { selector: "edge.bent", style: {
        "curve-style": "round-segments", "segment-radii": 14, "edge-distances": "node-position",
        "segment-weights": "data(weights)", "segment-distances": "data(distances)" } },
      { selector: "edge.copy", style: {
        width: 2.6, "line-color": colour("--copy"), "target-arrow-color": colour("--copy"), "line-opacity": 1, label: "data(label)",
        "font-size": 12, color: colour("--copy"), "text-background-color": colour("--card"), "text-background-opacity": 0.9,
        "text-background-padding": 2, "min-zoomed-font-size": 5, "z-index": 4 } },
      { selector: "edge.chosen", style: { width: 5 } },
    ];
  },
};
