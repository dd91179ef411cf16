"""Invented machines: legal, varied, and the same each time."""

import numpy as np

from ovplace.core.partition import Partition
from ovplace.simulation.machine_file import load_machine
from ovplace.testing.graphs import layered
from ovplace.train.random_machines import DEVICES, GB_PER_S, LATENCY_US, random_machines

BASE = [load_machine(name) for name in ("i9-12900k+flex170", "core-ultra")]


def test_the_same_seed_invents_the_same_machines():
    assert random_machines(BASE, 3, 5) == random_machines(BASE, 3, 5)
    assert random_machines(BASE, 3, 5) != random_machines(BASE, 4, 5)
    assert random_machines(BASE, 3, 5) == random_machines(BASE, 3, 9)[:5], (
        "more of them leave the first ones as they are"
    )


def test_they_are_unlike_and_within_their_ranges():
    found = random_machines(BASE, 0, 40)
    assert len({repr(machine.devices) for machine in found}) == 40
    assert {len(machine.devices) for machine in found} == set(range(DEVICES[0], DEVICES[1] + 1))
    for machine in found:
        assert len(machine.as_devices()) == len(machine.names)
        assert len(machine.links) == len(machine.names) * (len(machine.names) - 1)
        for link in machine.links.values():
            assert LATENCY_US[0] <= link.latency_us <= LATENCY_US[1]
            assert GB_PER_S[0] <= link.gb_per_s <= GB_PER_S[1]


def test_every_model_runs_on_each_of_them():
    graph = layered(30, seed=0)
    for machine in random_machines(BASE, 1, 20):
        costs = machine.table(graph, Partition.identity(len(graph)))
        assert np.isfinite(costs.group_ms[:, 0]).all(), "the first device runs everything"
    refusing = [
        device for machine in random_machines(BASE, 1, 20) for device in machine.devices[1:] if device.unsupported
    ]
    assert refusing, "some of the others do not"
