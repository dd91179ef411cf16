"""Where the generated models belong on the simulated machines: one JSON line a family and machine.

    python benchmarks/families.py [--count 32] [--machines core-ultra two-gpus] [--details]

`alone` counts the models for which each device by itself is the best that the solvers find, `mixed` those that more
than one device makes faster, with by how much. Placements are of legal groups; they are optimal under the pairwise
model on two devices, and found by expansion moves on more.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import openvino as ov

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import candidates
from ovplace.graphs.op_graph import OpGraph
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.simulation.machine import Machine
from ovplace.simulation.machine_file import load_machine
from ovplace.zoo import families

MACHINES = ("i9-12900k+flex170", "core-ultra", "two-gpus", "null")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=families.names(), default=families.names())
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--count", type=int, default=families.SIZE)
    parser.add_argument("--details", action="store_true", help="a line for each model, too")
    arguments = parser.parse_args()
    for family in arguments.families:
        graphs = list(built(family, arguments.count))
        for name in arguments.machines:
            found = [answer(load_machine(name), graph) for graph in graphs]
            if arguments.details:
                for index, (graph, (where, gain)) in enumerate(zip(graphs, found, strict=True)):
                    row = {"family": family, "index": index, "machine": name, "operations": len(graph)}
                    print(json.dumps(row | {"where": where, "gain": round(gain, 4)}))
            print(json.dumps({"family": family, "simulated": name} | summary(found)), flush=True)


def built(family: str, count: int) -> Iterator[OpGraph]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.xml", Path(folder) / "model.xml"
        for index in range(count):
            ov.save_model(families.build(family, index), source, compress_to_fp16=False)
            prepare(source, target)
            yield read_graph(target)


def answer(machine: Machine, graph: OpGraph) -> tuple[str, float]:
    """Return the device that is best alone, or `mixed`, and the latency saved over the best single device."""
    table = machine.table(graph, legal_groups(graph))
    rows = np.arange(table.n_devices)[:, None] * np.ones((1, table.n_groups), dtype=np.int64)
    alone, best = latency_ms(table, rows), latency_ms(table, candidates(table)[0][None])[0]
    gain = 1 - float(best / alone.min())
    return ("mixed" if gain > 1e-9 else machine.names[int(alone.argmin())]), max(gain, 0.0)


def summary(found: list[tuple[str, float]]) -> dict[str, object]:
    where = Counter(place for place, _ in found)
    gains = [gain for place, gain in found if place == "mixed"]
    return {
        "models": len(found),
        "mixed": where.pop("mixed", 0),
        "alone": dict(where),
        "gain": {"median": round(float(np.median(gains)), 4), "largest": round(max(gains), 4)} if gains else None,
    }


if __name__ == "__main__":
    main()
