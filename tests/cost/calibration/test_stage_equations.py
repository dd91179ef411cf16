"""Fits to stages predict placements that they have not seen better than fits to whole latencies."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.problem import Problem
from ovplace.cost.calibration.agreement import agreement
from ovplace.cost.calibration.equations import Equations
from ovplace.cost.calibration.refit import Refit
from ovplace.cost.evaluate.design_matrix import design_matrix, parameters, stage_matrix
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.seeds import generator
from ovplace.testing.graphs import layered, problem
from ovplace.testing.measurements import placements, profiled

REFERENCE_MS = 5.0
NOISE = 0.02


def told(of: Problem, device_of: IntArray, rng: np.random.Generator) -> tuple[Stages, FloatArray]:
    """Return the stages of a placement and what they take by the true costs, with noise of each."""
    assert of.costs is not None
    lifted = of.lift(device_of).device_of
    stages = Stages.of(of.graph, of.partition, lifted, reader_shares(of.devices))
    times = stage_matrix(of.costs, device_of, stages) @ parameters(of.costs)
    return stages, np.maximum(times, 1e-3) * np.exp(rng.normal(0, NOISE, len(times)))


def errors(seed: int, count: int, handover_ms: float = 0.0) -> tuple[float, float]:
    """Return the error of a fit to stages, and of one to whole latencies, at 200 placements held back."""
    of = problem(layered(30, seed), 2, seed)
    assert of.costs is not None
    truth, profile, rng = of.costs, profiled(of.costs, seed), generator(seed, "test")
    by_stage, by_whole = Refit(profile), Refit(profile)
    for device_of in placements(truth, count, seed):
        stages, times = told(of, device_of, rng)
        whole_ms = times.sum() + handover_ms * len(times)
        whole = float(whole_ms / REFERENCE_MS), float(whole_ms)
        by_stage.add(Equations.of_stages(profile, device_of, stages, times, whole))
        by_whole.add(Equations.of_whole(profile, device_of, whole[0], REFERENCE_MS))
    apart = placements(truth, 200, seed=99)
    submodels = design_matrix(truth, apart)[:, -2:].sum(axis=1)
    true_ms = latency_ms(truth, apart) + handover_ms * submodels
    found = (agreement(latency_ms(fit.table(), apart), true_ms).mape for fit in (by_stage, by_whole))
    return next(found), next(found)


@pytest.mark.parametrize("count", [10, 25])
@pytest.mark.parametrize("handover_ms", [0.0, 0.1])
def test_stages_teach_more(count: int, handover_ms: float) -> None:
    by_stage, by_whole = np.mean([errors(seed, count, handover_ms) for seed in range(4)], axis=0)
    assert by_stage < 0.8 * by_whole


def test_the_equations_add_up_to_the_whole() -> None:
    of = problem(layered(20, 1), 2, 1)
    assert of.costs is not None
    device_of = np.arange(20) // 5 % 2
    stages, times = told(of, device_of, generator(0, "test"))
    for factor in (0.8, 1.0, 1.3):
        whole_ms = float(factor * times.sum())
        found = Equations.of_stages(of.costs, device_of, stages, times, (whole_ms / REFERENCE_MS, whole_ms))
        relative, variances = found.relative[:-1], found.variances
        np.testing.assert_allclose(found.counts[:-1].sum(axis=0), found.counts[-1])
        assert relative.sum() == pytest.approx(whole_ms / REFERENCE_MS)
        assert found.relative[-1] == pytest.approx(whole_ms / REFERENCE_MS)
        assert (variances[:-1] * relative**2).sum() >= variances[-1] * found.relative[-1] ** 2
        assert found.reference_ms == pytest.approx(REFERENCE_MS)
        assert relative.min() > 0


def test_a_single_stage_is_the_whole() -> None:
    of = problem(layered(20, 1), 2, 1)
    assert of.costs is not None
    device_of = np.zeros(20, dtype=np.int64)
    stages, times = told(of, device_of, generator(0, "test"))
    found = Equations.of_stages(of.costs, device_of, stages, times, (1.0, 2.0))
    whole = Equations.of_whole(of.costs, device_of, 1.0, 2.0)
    np.testing.assert_array_equal(found.counts, whole.counts)
    assert found.variances.tolist() == whole.variances.tolist()


def test_short_stages_are_less_sure() -> None:
    of = problem(layered(20, 1), 2, 1)
    assert of.costs is not None
    device_of = np.arange(20) // 5 % 2
    stages, times = told(of, device_of, generator(0, "test"))
    times[0], times[1] = 1e-3, 10.0
    found = Equations.of_stages(of.costs, device_of, stages, times, (1.0, float(times.sum())))
    assert found.variances[0] > 1
    assert found.variances[1] < 0.002
