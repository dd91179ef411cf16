"use strict";

// What the graph says: labels, and the lines of the tooltip (the first one is its title).
const GraphText = {
  label(tree, item) {
    if (!tree.isBox(item)) return `${tree.type(item)}\n${this.shortName(DATA.graph.ops.name[item])}`;
    const count = Format.count(tree.operations.get(item).length, "operation");
    const time = tree.time(item);
    const title = tree.kind(item) === "group" ? this.shortName(DATA.graph.ops.name[tree.operations.get(item)[0]]) : tree.title(item);
    return `${title}\n${tree.summary(item)}\n${count}${time === null ? "" : ` · ${Format.ms(time)}`}`;
  },

  /** Return the last two parts of a name: the last one alone is often a number. */
  shortName(name) {
    const last = name.split("/").filter(Boolean).slice(-2).join("/") || name;
    return last.length > 26 ? `…${last.slice(-25)}` : last;
  },

  node(tree, item) {
    return tree.isBox(item) ? this.box(tree, item) : this.operation(tree, item);
  },

  operation(tree, op) {
    const { ops, devices, edges, group_ms: times } = DATA.graph;
    const inputs = edges.target.flatMap((target, i) => (target === op ? [ops.outputs[ops.output[edges.source[i]]]] : []));
    const members = ops.group.filter((group) => group === ops.group[op]).length;
    const whose = members > 1 ? `its group of ${members} operations` : "predicted";
    const perDevice = times.length ? devices.map((name, i) => `${name} ${Format.ms(times[ops.group[op]][i])}`).join(", ") : "";
    return [
      ops.name[op],
      `${tree.type(op)} on ${devices[ops.device[op]]}`,
      inputs.length ? `reads ${inputs.join(", ")}` : "",
      ops.outputs[ops.output[op]] ? `writes ${ops.outputs[ops.output[op]]}` : "",
      perDevice ? `${whose}: ${perDevice}` : "",
    ];
  },

  box(tree, box) {
    const { devices } = DATA.graph;
    const time = tree.time(box);
    return [
      tree.title(box),
      tree.devices(box).map(([device, count]) => `${Format.count(count, "operation")} on ${devices[device]}`).join(", "),
      tree.summary(box),
      time === null ? "" : `${Format.ms(time)} predicted`,
    ];
  },

  edge(edge, all) {
    const { ops, edges, devices } = DATA.graph;
    const [first] = all;
    const [source, target] = [edges.source[first], edges.target[first]];
    const tensors = all.slice(0, 4).map((i) => `${ops.name[edges.source[i]]} → ${ops.name[edges.target[i]]}: ${Format.bytes(edges.n_bytes[i])}`);
    const title = edge.hasClass("copy") ? `copied from ${devices[ops.device[source]]} to ${devices[ops.device[target]]}: ${edge.data("label")}` : Format.count(all.length, "connection");
    return [title, ...tensors, all.length > 4 ? `and ${all.length - 4} more` : ""];
  },
};

const Tooltip = {
  show(lines, event) {
    const box = document.getElementById("tooltip");
    const [title, ...rest] = lines.filter(Boolean);
    box.replaceChildren(element("b", title), ...rest.map((line) => element("span", line)));
    box.hidden = false;
    this.move(event);
  },

  move(event) {
    const box = document.getElementById("tooltip");
    box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
  },

  hide() {
    document.getElementById("tooltip").hidden = true;
  },
};
