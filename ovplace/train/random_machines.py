"""Randomly generated machines, so that policies generalise beyond the shipped ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ovplace.seeds import generator
from ovplace.simulation.machine import Link, SimulatedDevice, SimulatedMachine

DEVICES = (2, 4)
"""Lowest and highest number of devices of a random machine."""

LATENCY_US = (3.0, 80.0)
GB_PER_S = (2.0, 120.0)
"""Ranges of link latency and bandwidth, log-uniform; those of the shipped machines lie within."""

VARIED = ("Convolution", "GroupConvolution", "MatMul", "Softmax", "MVN", "Add", "Multiply", "Transpose", "Concat")
"""Frequent types, whose efficiency is varied even if the device has no specific value for them."""

OFTEN_UNSUPPORTED = (
    "Gelu", "GRUSequence", "Interpolate", "LSTMSequence", "MaxPool", "MVN", "NonMaxSuppression", "ReduceMean",
    "Sigmoid", "Sin", "Softmax", "Split", "Tanh", "TensorIterator", "TopK", "Transpose",
)  # fmt: skip
"""Operation types that some accelerators do not support."""

RESTRICTED = 0.4
"""Fraction of the devices, other than the first of a machine, that do not support some of these."""


def random_machines(machines: Sequence[SimulatedMachine], seed: int, count: int) -> list[SimulatedMachine]:
    """Generate machines from varied devices of given ones, with random links.

    Speeds, overheads and the efficiency for each type of operation are log-normal around the device's own. Each machine
    has at least one device that supports all types, if a given one has.

    Args:
        machines: machines whose devices are varied.
        seed: root seed.
        count: number of machines.
    """
    return [_random_machine(machines, generator(seed, "train", "machine", number), number) for number in range(count)]


def _random_machine(machines: Sequence[SimulatedMachine], rng: np.random.Generator, number: int) -> SimulatedMachine:
    pool = [(machine, device) for machine in machines for device in machine.devices]
    able = [entry for entry in pool if not entry[1].unsupported] or pool
    size = int(rng.integers(DEVICES[0], DEVICES[1] + 1))
    drawn = [able[rng.integers(len(able))], *(pool[rng.integers(len(pool))] for _ in range(size - 1))]
    devices = tuple(_varied(device, rng, place) for place, (_, device) in enumerate(drawn))
    names = [device.name for device in devices]
    links = {(a, b): _link(rng) for a in names for b in names if a < b}
    links |= {(b, a): link for (a, b), link in links.items()}
    return SimulatedMachine(f"random-{number}", devices, links, fusable=drawn[0][0].fusable)


def _varied(device: SimulatedDevice, rng: np.random.Generator, place: int) -> SimulatedDevice:
    name = f"GPU.{place}"

    def around(value: float, spread: float) -> float:
        return float(value * np.exp(spread * rng.standard_normal()))

    uneven = rng.uniform(0.2, 1.5)
    efficiencies = {
        kind: min(1.0, around(device.efficiencies.get(kind, device.efficiency), uneven))
        for kind in sorted({*device.efficiencies, *VARIED})
    }
    return replace(
        device,
        name=name,
        base=name,
        peak_gflops=around(device.peak_gflops, 0.7),
        gb_per_s=around(device.gb_per_s, 0.5),
        launch_us=around(device.launch_us, 0.5),
        submodel_us=around(device.submodel_us, 0.5),
        efficiencies=efficiencies,
        unsupported=tuple(sorted({*device.unsupported, *_unsupported(rng, place)})),
    )


def _unsupported(rng: np.random.Generator, place: int) -> list[str]:
    """Return further types that a device does not support."""
    if place == 0 or rng.random() >= RESTRICTED:
        return []
    return [kind for kind in OFTEN_UNSUPPORTED if rng.random() < 0.3]


def _link(rng: np.random.Generator) -> Link:
    latency, bandwidth = (np.exp(rng.uniform(*np.log(bounds))) for bounds in (LATENCY_US, GB_PER_S))
    return Link(float(latency), float(bandwidth))
