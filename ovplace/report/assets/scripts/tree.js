"use strict";

// The tree of boxes. An item is an operation (0..N-1) or a box (N..N+B-1); ROOT is -1.
const ROOT = -1;

class Tree {
  constructor(graph) {
    const { ops, boxes, edges } = graph;
    this.graph = graph;
    this.n = ops.name.length;
    this.size = this.n + boxes.parent.length;
    this.parent = ops.box.concat(boxes.parent).map((box) => (box < 0 ? ROOT : box + this.n));
    this.children = new Map([[ROOT, []]]);
    for (let item = this.n; item < this.size; item++) this.children.set(item, []);
    this.parent.forEach((box, item) => this.children.get(box).push(item));
    this.crossing = edges.source.map((source, i) => ops.device[source] !== ops.device[edges.target[i]]);
    this.operations = this.#operations();
    this.shares = new Map();
    this.levels = this.#levels();
  }

  isBox(item) {
    return item >= this.n;
  }

  kind(item) {
    return this.graph.boxes.kind[item - this.n];
  }

  ancestors(item) {
    const found = [];
    for (let at = this.parent[item]; at !== ROOT; at = this.parent[at]) found.push(at);
    return found;
  }

  /** Return the operations inside each box. */
  #operations() {
    const found = new Map([...this.children.keys()].map((box) => [box, []]));
    for (let op = 0; op < this.n; op++) for (const box of this.ancestors(op)) found.get(box).push(op);
    return found;
  }

  /** Return the connections of each box's own children: [source, target] pairs by box, each once. */
  #levels() {
    const seen = new Map([...this.children.keys()].map((box) => [box, new Map()]));
    const { source, target } = this.graph.edges;
    const paths = Array.from({ length: this.n }, (_, op) => [op, ...this.ancestors(op), ROOT].reverse());
    for (let i = 0; i < source.length; i++) {
      const [a, b] = [paths[source[i]], paths[target[i]]];
      let depth = 0;
      while (a[depth + 1] === b[depth + 1] && depth + 1 < Math.min(a.length, b.length)) depth++;
      const pair = [a[depth + 1], b[depth + 1]];
      if (pair[0] !== pair[1]) seen.get(a[depth]).set(pair[0] * this.size + pair[1], pair);
    }
    return new Map([...seen].map(([box, pairs]) => [box, [...pairs.values()]]));
  }

  /** Return how many operations of an item each device has, as [device, count] pairs. */
  devices(item) {
    if (!this.shares.has(item)) this.shares.set(item, this.#devices(item));
    return this.shares.get(item);
  }

  #devices(item) {
    const counts = new Map();
    for (const op of this.isBox(item) ? this.operations.get(item) : [item]) {
      const device = this.graph.ops.device[op];
      counts.set(device, (counts.get(device) ?? 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1]);
  }

  type(op) {
    return this.graph.ops.types[this.graph.ops.type[op]];
  }

  title(item) {
    if (!this.isBox(item)) return this.type(item);
    const number = this.graph.boxes.number[item - this.n] + 1;
    return `${this.kind(item)} ${number}`;
  }

  /** Return the most frequent operation types of a box in words. */
  summary(box) {
    const counts = new Map();
    for (const op of this.operations.get(box)) counts.set(this.type(op), (counts.get(this.type(op)) ?? 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const shown = sorted.slice(0, 2).map(([type, count]) => (count > 1 ? `${type} ×${count}` : type));
    return shown.join(", ") + (sorted.length > 2 ? ", …" : "");
  }

  /** Return the predicted time of a box, the sum of its groups; null where a group is only partly inside. */
  time(box) {
    const { ops, group_ms: times } = this.graph;
    if (!times.length) return null;
    this.groupSizes ??= ops.group.reduce((sizes, group) => sizes.set(group, (sizes.get(group) ?? 0) + 1), new Map());
    const inside = new Map();
    for (const op of this.operations.get(box)) inside.set(ops.group[op], [(inside.get(ops.group[op])?.[0] ?? 0) + 1, ops.device[op]]);
    let total = 0;
    for (const [group, [count, device]] of inside) {
      if (count < this.groupSizes.get(group)) return null;
      total += times[group][device] ?? 0;
    }
    return total;
  }
}
