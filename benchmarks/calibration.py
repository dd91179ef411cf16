"""Calibrates the simulated machine `i9-12900k+flex170` to HSDAG's Table 2, and says whether its file agrees.

    python benchmarks/calibration.py

First one set of global parameters: peaks and bandwidths from data sheets stay, the part of the peak that is reached and
the cost of a launch are fitted to the three latencies of each device, within plausible bounds. The residuals show what
that leaves unexplained. Then one factor for each model and device makes the six latencies exact. Exits with 1 where
the file says something else.

Source of the latencies: Duan et al., "A Structure-Aware Framework for Learning Device Placements on Computation Graphs"
(arXiv 2405.14185), Table 2, CPU-only and GPU-only; BERT at a sequence length of 8, as the authors' code tokenises its
one sentence.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

from ovplace import zoo
from ovplace.core.partition import Partition
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.graphs.op_graph import OpGraph
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import own_name, read_graph
from ovplace.simulation.machine import Machine
from ovplace.simulation.machine_file import load_machine

MACHINE = "i9-12900k+flex170"

PUBLISHED_MS = {
    "inception-v3": {"GPU": 12.0, "CPU": 12.8},
    "resnet-50": {"GPU": 7.81, "CPU": 16.0},
    "bert-base": {"GPU": 2.77, "CPU": 6.38},
}

OPTIONS = {"inception-v3": {"height": 299, "width": 299}, "bert-base": {"tokens": 8}}

BOUNDS = {"GPU": ((0.01, 0.6), (2.0, 20.0)), "CPU": ((0.1, 0.9), (0.5, 10.0))}
"""Of the efficiency and of the launch in us."""

AGREES = 0.005


@dataclass(frozen=True)
class Model:
    """A model as HSDAG has it."""

    name: str
    graph: OpGraph
    legal: Partition


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    machine = load_machine(MACHINE)
    with built() as models:
        fitted = fit(replace(machine, calibration={}), models)
        print("fitted here: " + described(fitted))
        show(fitted, models)
        print("in the file: " + described(machine))
        show(replace(machine, calibration={}), models)
        wanted, worst = factors(machine, models), 0.0
        print(f"{'model':14} {'device':7} {'factor':>8} {'in the file':>12} {'ms':>8} {'published':>10}")
        for of in models:
            for device, factor in wanted[of.name].items():
                found, published = single_ms(machine, of, device), PUBLISHED_MS[of.name][device]
                worst = max(worst, abs(found / published - 1))
                stated = machine.calibration.get(of.name, {}).get(device, 1.0)
                print(f"{of.name:14} {device:7} {factor:8.4f} {stated:12.4f} {found:8.3f} {published:10.3f}")
    print(f"the file {'agrees' if worst <= AGREES else 'DOES NOT AGREE'}: worst difference {worst:.2%}")
    sys.exit(worst > AGREES)


@contextmanager
def built() -> Iterator[list[Model]]:
    """Yield the three models, prepared as a run prepares them."""
    with tempfile.TemporaryDirectory() as folder:
        yield [build(name, Path(folder)) for name in PUBLISHED_MS]


def build(name: str, folder: Path) -> Model:
    source, target = folder / f"{name}.source.xml", folder / f"{name}.xml"
    zoo.save(name, zoo.recipe(name).Config(**OPTIONS.get(name, {})), source)
    prepare(source, target)
    graph = read_graph(target)
    return Model(own_name(target), graph, legal_groups(graph))


def single_ms(machine: Machine, of: Model, device: str) -> float:
    """Return the latency of a model on one device."""
    table = machine.table(of.graph, of.legal, of.name)
    return float(latency_ms(table, table.uniform(machine.names.index(device))[None])[0])


def with_parameters(machine: Machine, device: str, efficiency: float, launch_us: float) -> Machine:
    changed = [
        replace(d, efficiency=efficiency, launch_us=launch_us) if d.name == device else d for d in machine.devices
    ]
    return replace(machine, devices=tuple(changed))


def fit(machine: Machine, models: list[Model]) -> Machine:
    """Return the machine with the efficiency and the launch cost of each device that come nearest, in logarithms."""
    for device, bounds in BOUNDS.items():

        def residuals(x: np.ndarray, device: str = device, machine: Machine = machine) -> list[float]:
            tried = with_parameters(machine, device, *np.exp(x))
            return [np.log(single_ms(tried, of, device) / PUBLISHED_MS[of.name][device]) for of in models]

        low, high = np.log(bounds).T
        found = least_squares(residuals, (low + high) / 2, bounds=(low, high), diff_step=1e-3)
        machine = with_parameters(machine, device, *np.exp(found.x))
    return machine


def factors(machine: Machine, models: list[Model]) -> Mapping[str, Mapping[str, float]]:
    """Return the factor on the operations' time by which each latency becomes the published one."""
    plain = replace(machine, calibration={})
    overhead = {device.name: device.submodel_us / 1e3 for device in machine.devices}
    return {
        of.name: {
            device: (published - overhead[device]) / (single_ms(plain, of, device) - overhead[device])
            for device, published in PUBLISHED_MS[of.name].items()
        }
        for of in models
    }


def described(machine: Machine) -> str:
    return "; ".join(f"{d.name} efficiency {d.efficiency:.4f}, launch {d.launch_us:.2f} us" for d in machine.devices)


def show(machine: Machine, models: list[Model]) -> None:
    for of in models:
        for device, published in PUBLISHED_MS[of.name].items():
            found = single_ms(machine, of, device)
            print(
                f"  {of.name:14} {device:4} {found:8.3f} ms, published {published:8.3f}: {found / published - 1:+.1%}"
            )


if __name__ == "__main__":
    main()
