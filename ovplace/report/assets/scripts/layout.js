"use strict";

// Positions of what is open: each box lays out its own children, and is then one node of its parent's layout.
class Layout {
  static PAD = 16;
  static HEAD = 26;

  constructor(tree, labels) {
    this.tree = tree;
    this.labels = labels;
    this.known = new Map();
  }

  /** Forget the layouts that depend on whether a box is open. */
  forget(box) {
    this.known.delete(box);
    for (const outer of this.tree.ancestors(box)) this.known.delete(outer);
    this.known.delete(ROOT);
  }

  /** Return {width, height, nodes, bends} of a box; nodes are [item, x, y, width, height] from its centre. */
  of(box, open) {
    if (!this.known.has(box)) this.known.set(box, this.#lay(box, open));
    return this.known.get(box);
  }

  #lay(box, open) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 34, marginx: 0, marginy: 0 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const item of this.tree.children.get(box)) {
      const inner = open.has(item) ? this.of(item, open) : null;
      const [width, height] = inner ? [inner.width, inner.height] : this.#size(item);
      graph.setNode(item, { width, height });
    }
    for (const [source, target] of this.tree.levels.get(box)) graph.setEdge(source, target);
    dagre.layout(graph);
    return this.#result(graph, box, open);
  }

  #size(item) {
    const lines = this.labels(item).split("\n");
    const longest = Math.max(...lines.map((line) => line.length));
    return [Math.max(70, 6.9 * longest + 22), 16.5 * lines.length + 16];
  }

  #result(graph, box, open) {
    const { width = 0, height = 0 } = graph.graph();
    const [dx, dy] = [-width / 2, -height / 2];
    const shift = box === ROOT ? 0 : (Layout.HEAD - Layout.PAD) / 2;
    const nodes = [];
    const bends = this.#bends(graph, dx, dy + shift);
    for (const name of graph.nodes()) {
      const { x, y, width: w, height: h } = graph.node(name);
      const [item, cx, cy] = [Number(name), x + dx, y + dy + shift];
      nodes.push([item, cx, cy, w, h]);
      if (open.has(item)) this.#place(this.of(item, open), cx, cy, nodes, bends);
    }
    return { width: width + 2 * Layout.PAD, height: height + Layout.PAD + Layout.HEAD, nodes, bends };
  }

  /** Return the bends of the edges of one level, [x, y] points by edge, for those that pass other nodes. */
  #bends(graph, dx, dy) {
    const found = graph.edges().map(({ v, w }) => [`e${v}-${w}`, graph.edge(v, w).points.slice(1, -1).map(({ x, y }) => [x + dx, y + dy])]);
    return new Map(found.filter(([, points]) => points.length > 1));
  }

  /** Add what an open box holds to its parent's nodes and bends. */
  #place(inner, cx, cy, nodes, bends) {
    for (const [item, x, y, width, height] of inner.nodes) nodes.push([item, cx + x, cy + y, width, height]);
    for (const [edge, points] of inner.bends) bends.set(edge, points.map(([x, y]) => [cx + x, cy + y]));
  }
}
