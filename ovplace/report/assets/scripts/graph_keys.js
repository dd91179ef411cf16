"use strict";

// The graph by keyboard. The node that keys act on is the chosen one, as after a search.
const GraphKeys = {
  ARROWS: { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] },

  start(view) {
    this.view = view;
    const frame = view.cy.container();
    frame.addEventListener("keydown", (event) => {
      if (this.handles(event.key) && !event.ctrlKey && !event.altKey && !event.metaKey) event.preventDefault();
    });
    frame.addEventListener("focus", () => frame.matches(":focus-visible") && this.go(this.present()));
    frame.addEventListener("blur", () => Tooltip.hide());
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.closest("input")) return;
      event.preventDefault();
      document.getElementById("search").focus();
    });
  },

  /** Do what a key asks for; return whether it asks for anything here. */
  handles(key) {
    const at = this.present();
    if (key in this.ARROWS) this.go(this.next(at, this.ARROWS[key]) ?? at);
    else if (key === "Enter" || key === " ") this.toggle(at);
    else if (key === "Escape") this.go(this.view.tree.parent[at] === ROOT ? at : this.view.tree.parent[at]);
    else return false;
    return true;
  },

  /** Return the chosen item, or the uppermost one. */
  present() {
    const { cy } = this.view;
    const chosen = cy.nodes(".chosen");
    return (chosen.nonempty() ? chosen : cy.nodes().sort((a, b) => this.top(a) - this.top(b)))[0].data("item");
  },

  top: (node) => node.position("y") - node.data("height") / 2,

  /** Return the nearest item in a direction, aside counting more; open boxes are left and entered by other keys. */
  next(item, [dx, dy]) {
    const from = this.view.cy.getElementById(`i${item}`);
    const start = from.hasClass("open") ? { x: from.position("x"), y: this.top(from) } : from.position();
    let [best, least] = [null, Infinity];
    for (const node of this.view.cy.nodes(".box, .op").toArray()) {
      const { x, y } = node.position();
      const along = (x - start.x) * dx + (y - start.y) * dy;
      const cost = along + 3 * Math.abs((x - start.x) * dy + (y - start.y) * dx);
      if (along > 1 && cost < least) [best, least] = [node.data("item"), cost];
    }
    return best;
  },

  /** Choose an item, bring it into view, and say what the pointer would be told. */
  go(item) {
    const { cy, tree } = this.view;
    const node = cy.getElementById(`i${item}`);
    cy.elements().removeClass("chosen");
    node.addClass("chosen");
    const { x1, y1, x2, y2 } = node.renderedBoundingBox();
    if (x1 < 0 || y1 < 0 || x2 > cy.width() || y2 > cy.height()) cy.center(node);
    const frame = cy.container().getBoundingClientRect();
    const box = node.renderedBoundingBox();
    Tooltip.show(GraphText.node(tree, item), { clientX: frame.x + Math.min(box.x2, cy.width()), clientY: frame.y + Math.max(box.y1, 0) });
  },

  /** Open a box and go to what it holds first, or close it. */
  toggle(item) {
    const { tree, cy, open } = this.view;
    if (!tree.isBox(item)) return;
    this.view.toggle(item);
    const inside = tree.children.get(item).map((child) => cy.getElementById(`i${child}`));
    this.go(open.has(item) ? inside.sort((a, b) => this.top(a) - this.top(b))[0].data("item") : item);
  },
};
