"use strict";

// The graph of the placement, drawn by cytoscape.js: only what is open exists there.
const GraphView = {
  MOST: 100, // items that are shown at once: drawing 200 takes 150 ms on two cores, which a click would wait for

  start() {
    this.tree = new Tree(DATA.graph);
    this.open = new Set();
    this.active = new Set(DATA.graph.devices.keys());
    this.labels = new Map();
    this.connections = new Map(); // what each shown edge stands for
    this.layout = new Layout(this.tree, (item) => this.label(item));
    this.cy = cytoscape({
      container: document.getElementById("graph"),
      autoungrabify: true, autounselectify: true, boxSelectionEnabled: false,
      userZoomingEnabled: false, minZoom: 0.05, maxZoom: 2.5, style: GraphStyle.rules(), pixelRatio: Math.min(2, devicePixelRatio),
    });
    this.openFirst();
    this.draw();
    this.fit();
    this.listen();
    GraphTools.start(this);
    GraphKeys.start(this);
    Theme.listeners.push(() => this.cy.style(GraphStyle.rules()).update());
  },

  /** Open boxes from the top as long as the picture stays readable. */
  openFirst() {
    let shown = this.tree.children.get(ROOT);
    while (shown.length < 8) {
      const box = shown.find((item) => this.tree.isBox(item) && this.tree.operations.get(item).length > 1);
      if (box === undefined || shown.length + this.tree.children.get(box).length > 22) break;
      this.open.add(box);
      shown = shown.filter((item) => item !== box).concat(this.tree.children.get(box));
    }
  },

  label(item) {
    if (!this.labels.has(item)) this.labels.set(item, GraphText.label(this.tree, item));
    return this.labels.get(item);
  },

  /** Show what is open: remove what is gone, add what is new, move the rest. */
  draw() {
    const { nodes, bends } = this.layout.of(ROOT, this.open);
    const wanted = new Map(nodes.map((node) => [`i${node[0]}`, this.node(node)]));
    for (const edge of this.edges(new Set(nodes.map(([item]) => item)))) {
      const points = bends.get(edge.data.id);
      if (points) this.bend(edge, points, wanted.get(edge.data.source).position, wanted.get(edge.data.target).position);
      wanted.set(edge.data.id, edge);
    }
    this.cy.batch(() => {
      this.cy.elements().filter((shown) => !wanted.has(shown.id())).remove();
      const fresh = [];
      for (const [id, found] of wanted) {
        const shown = this.cy.getElementById(id);
        if (shown.empty()) fresh.push(found);
        else this.change(shown, found);
      }
      this.cy.add(fresh);
    });
    this.fade();
  },

  /** Change what differs: each change of data or classes lets cytoscape work out the style again. */
  change(shown, found) {
    const changed = Object.entries(found.data).filter(([name, value]) => String(shown.data(name)) !== String(value));
    if (changed.length) shown.data(Object.fromEntries(changed));
    if (found.classes !== shown.scratch("classes")) shown.classes(found.classes).scratch("classes", found.classes);
    if (found.position) shown.position(found.position);
  },

  node([item, x, y, width, height]) {
    const open = this.open.has(item);
    const devices = this.tree.devices(item);
    const data = { id: `i${item}`, item, width, height, label: open ? this.tree.title(item) : this.label(item), ...GraphStyle.colours(devices) };
    const classes = open ? "open" : this.tree.isBox(item) ? "box" : "op";
    return { group: "nodes", data, classes: devices.length > 1 && !open ? `${classes} mixed` : classes, position: { x, y } };
  },

  /** Lead an edge through points: cytoscape wants them along and beside the straight line between its ends. */
  bend(edge, points, from, to) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(dx, dy) || 1;
    edge.data.weights = points.map(([x, y]) => ((x - from.x) * dx + (y - from.y) * dy) / length ** 2);
    edge.data.distances = points.map(([x, y]) => ((x - from.x) * -dy + (y - from.y) * dx) / length);
    edge.classes += " bent";
  },

  /** Return the edges between what is shown, each with the bytes that cross between devices. */
  edges(shown) {
    const { source, target } = DATA.graph.edges;
    const end = Array.from({ length: this.tree.n }, (_, op) => this.visible(op, shown));
    const found = new Map();
    for (let i = 0; i < source.length; i++) {
      const [a, b] = [end[source[i]], end[target[i]]];
      if (a === b) continue;
      const key = a * this.tree.size + b;
      if (!found.has(key)) found.set(key, { a, b, edges: [] });
      found.get(key).edges.push(i);
    }
    return [...found.values()].map(({ a, b, edges }) => {
      const crossing = edges.some((i) => this.tree.crossing[i]);
      const data = { id: `e${a}-${b}`, source: `i${a}`, target: `i${b}`, label: crossing ? this.copies(edges) : "" };
      this.connections.set(data.id, edges);
      return { group: "edges", data, classes: crossing ? "copy" : "" };
    });
  },

  /** Return size and predicted time of what edges copy between devices; a tensor counts once a device. */
  copies(edges) {
    const { boundaries, edges: { source, target }, ops } = DATA.graph;
    this.boundaryOf ??= new Map(boundaries.source.map((op, i) => [`${op}>${ops.device[boundaries.target[i]]}`, i]));
    const crossing = edges.filter((i) => this.tree.crossing[i]);
    const found = [...new Set(crossing.map((i) => this.boundaryOf.get(`${source[i]}>${ops.device[target[i]]}`)))];
    const total = (column) => found.reduce((sum, i) => sum + (column[i] ?? 0), 0);
    const time = boundaries.ms.some((ms) => ms !== null) ? ` · ${Format.ms(total(boundaries.ms))}` : "";
    return Format.bytes(total(boundaries.n_bytes)) + time;
  },

  /** Return the innermost shown item that holds an operation. */
  visible(op, shown) {
    let at = op;
    while (!shown.has(at) && at !== ROOT) at = this.tree.parent[at];
    return at;
  },

  toggle(box) {
    if (this.open.has(box)) this.shut(box);
    else this.open.add(box);
    this.layout.forget(box);
    this.trim(box);
    this.draw();
    this.fit(this.open.has(box) ? box : this.tree.parent[box]);
  },

  /** Close a box and all that is open inside it. */
  shut(box) {
    this.open.delete(box);
    for (const inner of this.tree.children.get(box)) if (this.open.has(inner)) this.shut(inner);
    this.layout.forget(box);
  },

  /** Return how many items are shown. */
  count() {
    return [ROOT, ...this.open].reduce((sum, box) => sum + this.tree.children.get(box).length, 0);
  },

  /** Close what was opened first and holds none of the items, as long as too much is shown. */
  trim(...items) {
    const kept = new Set(items.flatMap((item) => [item, ...this.tree.ancestors(item)]));
    for (const box of [...this.open]) {
      if (this.count() <= this.MOST) return;
      if (this.open.has(box) && !kept.has(box)) this.shut(box);
    }
  },

  /** Open all that holds an item, and show it in the middle; what holds another one stays open. */
  reveal(item, other = item) {
    for (const box of this.tree.ancestors(item)) {
      this.open.add(box);
      this.layout.forget(box);
    }
    this.trim(item, other);
    this.draw();
    const node = this.cy.getElementById(`i${item}`);
    this.cy.elements().removeClass("chosen");
    node.addClass("chosen");
    this.cy.viewport({ zoom: 1.1, pan: { x: 0, y: 0 } }).center(node);
    return node;
  },

  /** Open what is closed, one level, as long as not too much is shown. */
  openMore() {
    for (const node of this.cy.nodes(".box").toArray()) {
      this.open.add(node.data("item"));
      if (this.count() > this.MOST) this.open.delete(node.data("item"));
    }
    this.redraw();
  },

  closeAll() {
    this.open.clear();
    this.redraw();
  },

  redraw() {
    this.layout.known.clear();
    this.draw();
    this.fit();
  },

  /** Show a box, or all, as large as it fits; what would be too small to read is shown from its top. */
  fit(box = ROOT) {
    const shown = box === ROOT ? this.cy.elements() : this.cy.getElementById(`i${box}`);
    this.cy.fit(shown, 24);
    const zoom = Math.min(1.2, Math.max(0.45, this.cy.zoom()));
    if (zoom === this.cy.zoom()) return;
    const { x1, w, y1, h } = shown.boundingBox();
    const [width, height] = [this.cy.width(), this.cy.height()];
    const y = Math.max(24 - zoom * y1, height / 2 - zoom * (y1 + h / 2));
    this.cy.viewport({ zoom, pan: { x: width / 2 - zoom * (x1 + w / 2), y } });
  },

  /** Fade what has no operation on the devices that are switched on. */
  fade() {
    const all = this.active.size === DATA.graph.devices.length;
    this.cy.batch(() => this.cy.nodes().forEach((node) => {
      const on = all || this.tree.devices(node.data("item")).some(([device]) => this.active.has(device));
      node.toggleClass("faded", !on);
    }));
  },

  listen() {
    // The wheel scrolls the page until the graph has been clicked, and again once the pointer has left it.
    const frame = this.cy.container();
    frame.addEventListener("pointerdown", () => this.cy.userZoomingEnabled(true));
    frame.addEventListener("pointerleave", () => this.cy.userZoomingEnabled(false));
    this.cy.on("tap", "node", ({ target }) => {
      if (this.tree.isBox(target.data("item"))) this.toggle(target.data("item"));
    });
    const pointer = (event) => event.originalEvent;
    this.cy.on("mouseover", "node", (event) => Tooltip.show(GraphText.node(this.tree, event.target.data("item")), pointer(event)));
    this.cy.on("mouseover", "edge", (event) => Tooltip.show(GraphText.edge(event.target, this.connections.get(event.target.id())), pointer(event)));
    this.cy.on("mousemove", "node, edge", (event) => Tooltip.move(pointer(event)));
    this.cy.on("mouseout pan zoom", () => Tooltip.hide());
  },
};
