"""Devices on which the generated models are fastest, on simulated machines.

One row a family and machine. `mixed` counts the models that more than one device makes faster (any gain counts), `gain`
by how much over the fastest device (median and largest); `alone` counts the others by device. Placements are of legal
groups; they are optimal under the pairwise model on two devices, and found by expansion moves on more.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import openvino as ov

from benchmarks.report import Row
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import candidates
from ovplace.graphs.op_graph import OpGraph
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.simulation.machine import SimulatedMachine
from ovplace.simulation.machine_file import load_machine
from ovplace.zoo import families as generated


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        families: names; all if there are none.
        machines: names of simulated machines.
        count: models of each family.
    """

    families: tuple[str, ...] = ()
    machines: tuple[str, ...] = ("i9-12900k+flex170", "core-ultra", "two-gpus", "null")
    count: int = generated.SIZE


SHORT = Options(families=("cells",), machines=("core-ultra",), count=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each family and machine."""
    for family in options.families or generated.family_names():
        graphs = list(_built(family, options.count))
        for name in options.machines:
            found = [_fastest(load_machine(name), graph) for graph in graphs]
            yield {"family": family, "machine": f"{name} (simulated)", **_summary(found)}


def _built(family: str, count: int) -> Iterator[OpGraph]:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source.xml", Path(folder) / "model.xml"
        for index in range(count):
            ov.save_model(generated.build_member(family, index), source, compress_to_fp16=False)
            prepare(source, target)
            yield read_graph(target)


def _fastest(machine: SimulatedMachine, graph: OpGraph) -> tuple[str, float]:
    """Return the device that is the best alone, or `mixed`, and the latency saved over the best single device."""
    table = machine.table(graph, legal_groups(graph))
    alone, best = latency_ms(table, table.uniform_choices()), latency_ms(table, candidates(table)[0][None])[0]
    gain = 1 - float(best / alone.min())
    return ("mixed" if gain > 1e-9 else machine.names[int(alone.argmin())]), max(gain, 0.0)


def _summary(found: Sequence[tuple[str, float]]) -> Row:
    where = Counter(place for place, _ in found)
    gains = [gain for place, gain in found if place == "mixed"]
    return {
        "models": len(found),
        "mixed": where.pop("mixed", 0),
        "gain": f"{np.median(gains):.1%} ({max(gains):.1%})" if gains else "",
        "alone": ", ".join(f"{name} {count}" for name, count in where.most_common()),
    }
