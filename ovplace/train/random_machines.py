"""Machines that nobody has: a policy that knows three machines by heart knows nothing of a fourth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ovplace.seeds import generator
from ovplace.simulation.machine import Link, Machine, SimulatedDevice

DEVICES = (2, 4)
"""How many devices an invented machine has, at least and at most."""

LATENCY_US = (3.0, 80.0)
GB_PER_S = (2.0, 120.0)
"""Ranges of its links, drawn evenly on a logarithmic scale; the machines that come with ovplace lie within."""


VARIED = ("Convolution", "GroupConvolution", "MatMul", "Softmax", "MVN", "Add", "Multiply", "Transpose", "Concat")
"""Types whose efficiency is drawn anew even where the device says nothing special of them: the frequent ones."""

REFUSED = (
    "Gelu", "GRUSequence", "Interpolate", "LSTMSequence", "MaxPool", "MVN", "NonMaxSuppression", "ReduceMean",
    "Sigmoid", "Sin", "Softmax", "Split", "Tanh", "TensorIterator", "TopK", "Transpose",
)  # fmt: skip
"""Types that accelerators are known to refuse, some here, some there."""

CHOOSY = 0.4
"""How many of the devices, the first one of a machine excepted, refuse some of these."""


def invented(machines: Sequence[Machine], seed: int, count: int) -> list[Machine]:
    """Return machines of devices that are like those of `machines`, with other speeds, launches and links.

    Speeds and overheads are drawn around the device's own, on a logarithmic scale, and so is how well it runs each type
    of operation. Each machine has at least one device that runs everything, if the given ones have one.

    Args:
        machines: whose devices are varied.
        seed: root seed.
        count: number of machines.
    """
    return [_invented(machines, generator(seed, "train", "machine", number), number) for number in range(count)]


def _invented(machines: Sequence[Machine], rng: np.random.Generator, number: int) -> Machine:
    pool = [(machine, device) for machine in machines for device in machine.devices]
    able = [entry for entry in pool if not entry[1].unsupported] or pool
    size = int(rng.integers(DEVICES[0], DEVICES[1] + 1))
    drawn = [able[rng.integers(len(able))], *(pool[rng.integers(len(pool))] for _ in range(size - 1))]
    devices = tuple(_varied(device, rng, place) for place, (_, device) in enumerate(drawn))
    names = [device.name for device in devices]
    links = {(a, b): _link(rng) for a in names for b in names if a < b}
    links |= {(b, a): link for (a, b), link in links.items()}
    return Machine(f"invented-{number}", devices, links, fusable=drawn[0][0].fusable)


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
        unsupported=tuple(sorted({*device.unsupported, *_refused(rng, place)})),
    )


def _refused(rng: np.random.Generator, place: int) -> list[str]:
    """Return the types that a device refuses beside those that it refused before."""
    if place == 0 or rng.random() >= CHOOSY:
        return []
    return [kind for kind in REFUSED if rng.random() < 0.3]


def _link(rng: np.random.Generator) -> Link:
    latency, bandwidth = (np.exp(rng.uniform(*np.log(bounds))) for bounds in (LATENCY_US, GB_PER_S))
    return Link(float(latency), float(bandwidth))
