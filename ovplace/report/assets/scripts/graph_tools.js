"use strict";

// What stands around the graph: search, devices, buttons, the table of copies.
const GraphTools = {
  MOST: 40,

  start(view) {
    this.view = view;
    const on = (id, act) => document.getElementById(id).addEventListener("click", () => act.call(view));
    on("open", view.openMore);
    on("close", view.closeAll);
    on("fit", () => view.fit());
    this.devices();
    this.search();
    this.copies();
  },

  devices() {
    const buttons = DATA.graph.devices.map((name, device) => {
      const button = element("button", name, { type: "button", "aria-pressed": "true" });
      button.prepend(element("i", "", { class: "dot", style: `background: var(${Theme.device(device)})` }));
      button.addEventListener("click", () => {
        const { active } = this.view;
        if (!active.delete(device)) active.add(device);
        button.setAttribute("aria-pressed", String(active.has(device)));
        this.view.fade();
      });
      return button;
    });
    document.getElementById("devices").append(...buttons);
  },

  search() {
    const input = document.getElementById("search");
    const list = document.getElementById("hits");
    const show = () => {
      const found = this.find(input.value);
      list.replaceChildren(...found.map((op) => this.hit(op, list)));
      if (input.value && !found.length) list.append(element("li", "No operation has this in its name or type."));
      list.hidden = !input.value;
    };
    input.addEventListener("input", show);
    input.addEventListener("focus", show);
    input.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") list.querySelector("button")?.click();
      if (key === "Escape") list.hidden = true;
    });
    input.closest(".found").addEventListener("keydown", (event) => this.step(event, input, list));
    document.addEventListener("click", ({ target }) => {
      if (!target.closest(".found")) list.hidden = true;
    });
  },

  /** Go up and down among the hits by arrow keys, and back to the text by Escape. */
  step(event, input, list) {
    const stops = [input, ...list.querySelectorAll("button")];
    const by = { ArrowDown: 1, ArrowUp: -1, Escape: -stops.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, stops.indexOf(event.target) + by))].focus();
  },

  /** Return the first operations that have a text in their name or type. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    const found = [];
    for (let op = 0; wanted && op < this.view.tree.n && found.length < this.MOST; op++) {
      const whole = `${DATA.graph.ops.name[op]} ${this.view.tree.type(op)}`;
      if (whole.toLowerCase().includes(wanted)) found.push(op);
    }
    return found;
  },

  hit(op, list) {
    const button = element("button", `${DATA.graph.ops.name[op]} `, { type: "button" });
    button.append(element("small", this.view.tree.type(op)));
    button.addEventListener("click", () => {
      this.view.reveal(op);
      this.view.cy.container().focus({ preventScroll: true });
      list.hidden = true;
    });
    const row = element("li");
    row.append(button);
    return row;
  },

  copies() {
    const { boundaries, ops, devices } = DATA.graph;
    const body = document.querySelector("#boundaries tbody");
    const order = boundaries.source.map((_, i) => i).sort((a, b) => boundaries.n_bytes[b] - boundaries.n_bytes[a]);
    body?.append(...order.slice(0, 200).map((i) => {
      const [source, target, readers] = [boundaries.source[i], boundaries.target[i], boundaries.readers[i]];
      const row = element("tr", "", { "data-edge": i, tabindex: 0 });
      const others = readers > 1 ? ` and ${Format.count(readers - 1, "other")}` : "";
      row.append(
        element("td", ops.name[source]), element("td", ops.name[target] + others),
        element("td", devices[ops.device[source]]), element("td", devices[ops.device[target]]),
        element("td", Format.bytes(boundaries.n_bytes[i]), { class: "n" }),
        element("td", boundaries.ms[i] === null ? "-" : Format.ms(boundaries.ms[i]), { class: "n" }),
      );
      row.addEventListener("click", () => this.locate(source, target));
      row.addEventListener("keydown", ({ key }) => key === "Enter" && this.locate(source, target));
      return row;
    }));
  },

  /** Show a copy in the graph. */
  locate(source, target) {
    this.view.reveal(target);
    const [a, b] = [this.view.reveal(source, target), this.view.cy.getElementById(`i${target}`)];
    a.edgesTo(b).addClass("chosen");
    this.view.cy.fit(a.union(b), 120);
    document.getElementById("graph").scrollIntoView({ block: "center" });
  },
};
