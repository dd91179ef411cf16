"""What the automatic modes of HETERO come to, told by the submodels that HETERO reports."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import TimeBudget
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.graphs import layered, problem
from ovplace.testing.sessions import OPS, QUICK, DirectPool, session

GRAPH = layered(OPS, seed=3)


def automatic(reported, every=2):
    """Return the baseline of the automatic mode with `CPU_0` first, which supports each `every`-th operation."""
    supported = np.stack([np.arange(OPS) % every == 0, np.ones(OPS, dtype=bool)], axis=1)
    chosen = Placement(np.where(supported[:, 0], 0, 1), ("CPU_0", "CPU_1")).submodels(GRAPH)

    def measure(candidates, spec):
        return [Measurement((1.0,), (1,), submodels=() if c.placement else reported(chosen)) for c in candidates]

    of = session(Path(), DirectPool(measure), GRAPH)
    of.problem = problem(GRAPH, supported=supported)
    store = RunStore(Path(":memory:"))
    found = measure_baselines(Measurer(of, store), QUICK, silent)
    store.close()
    return next(b for b in found if b.name.startswith("HETERO:CPU_0"))


@pytest.mark.parametrize(
    "reported", [tuple, lambda chosen: tuple(reversed(chosen)), lambda chosen: tuple(sorted(chosen))]
)
def test_an_automatic_mode_is_known_by_its_submodels_in_whatever_order_they_run(reported):
    found = automatic(reported)
    assert found.competes
    assert found.placement is not None and not found.placement.is_uniform


def test_an_automatic_mode_with_other_submodels_does_not_compete():
    found = automatic(lambda chosen: (*chosen, "CPU_1"))
    assert not found.competes and found.placement is None


def test_an_automatic_mode_on_one_device_competes_however_many_unconnected_parts_the_model_has():
    found = automatic(lambda _: ("CPU_0", "CPU_0", "CPU_0"), every=1)
    assert found.competes and found.placement is not None and found.placement.is_uniform


@pytest.mark.parametrize("limit_s", [float("inf"), 60.0])
@pytest.mark.parametrize("lost", [ErrorKind.CRASH, ErrorKind.MEMORY])
@pytest.mark.parametrize("n_devices", [1, 2])
def test_a_device_that_is_lost_once_is_measured_again(n_devices, lost, limit_s):
    once = [Measurement.failed(lost, "gone")]

    def measure(candidates, spec):
        failed = once and once.pop()
        return [failed or Measurement((1.0,), (1,)) for _ in candidates]

    of = session(Path(), DirectPool(measure), GRAPH)
    of.selection = replace(of.selection, devices=of.selection.devices[:n_devices])
    of.problem = problem(GRAPH, n_devices=n_devices)
    with closing(RunStore(Path(":memory:"))) as store:
        found = measure_baselines(Measurer(of, store, time=TimeBudget(limit_s=limit_s)), QUICK, silent)
    assert all(baseline.measurement.ok for baseline in found) and not once


def test_what_alone_has_too_little_memory_is_not_tried_again():
    asked = []

    def measure(candidates, spec):
        asked.append(candidates[0].name)
        full = Measurement.failed(ErrorKind.MEMORY, "too small")
        return [
            full if candidate.name.startswith("HETERO:CPU_0") else Measurement((1.0,), (1,)) for candidate in candidates
        ]

    of = session(Path(), DirectPool(measure), GRAPH)
    with closing(RunStore(Path(":memory:"))) as store:
        found = measure_baselines(Measurer(of, store), QUICK, silent)
    assert [b.name for b in found if b.measurement.error] == ["HETERO:CPU_0,CPU_1 (automatic)"]
    assert len(asked) == len(set(asked))


def test_where_no_device_works_the_next_call_measures_them_again():
    works = []

    def measure(candidates, spec):
        return [Measurement((1.0,), (1,)) if works else Measurement.failed(ErrorKind.INFER, "no") for _ in candidates]

    of = session(Path(), DirectPool(measure), GRAPH)
    with closing(RunStore(Path(":memory:"))) as store:
        measurer = Measurer(of, store)
        with pytest.raises(BackendError, match="no single device runs the model"):
            measure_baselines(measurer, QUICK, silent)
        works.append(True)
        assert all(baseline.measurement.ok for baseline in measure_baselines(measurer, QUICK, silent))
