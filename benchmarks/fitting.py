"""Cost models fitted to some measured placements and judged on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Measurement
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.calibration.agreement import Agreement, agreement
from ovplace.cost.calibration.equations import Equations
from ovplace.cost.calibration.refit import Refit
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.graphs.op_graph import IntArray
from ovplace.seeds import generator
from ovplace.session.measurer import latency_ratio

PROFILE, WHOLES, STAGES = "profile", "fitted to wholes", "fitted to stages"
"""What predicts: the profile alone, or the profile fitted to latencies of placements, or to these and to the times of
their stages, as a search does."""


@dataclass(frozen=True)
class Told:
    """A measured placement.

    Attributes:
        choice: device of each group, `[G]`.
        ratio: latency relative to the reference measured in turns with it.
        whole: what its latency says of the costs.
        stages: what its latency and the times of its stages say.
        n_stages: how many there are; 1 where it was not measured in stages.
    """

    choice: IntArray
    ratio: float
    whole: Equations
    stages: Equations
    n_stages: int


def told(problem: Problem, profile: CostTable, placement: Placement, own: Measurement, reference: Measurement) -> Told:
    """Return what a measurement says of the costs.

    Args:
        problem: the model and its devices.
        profile: its costs.
        placement: what was measured, in stages or by HETERO.
        own: its measurement; it worked.
        reference: of the reference, in turns with it.
    """
    ratio, choice = latency_ratio(own, reference), problem.lower(placement)
    whole = Equations.of_whole(profile, choice, ratio, own.median_ms / ratio)
    if not own.stages_ms:
        return Told(choice, ratio, whole, whole, 1)
    found = Stages.of(problem.graph, problem.partition, placement.device_of, reader_shares(problem.devices))
    stage_ms, of_whole = found.summed(np.array(own.stages_ms)), (ratio, own.median_ms)
    return Told(choice, ratio, whole, Equations.of_stages(profile, choice, found, stage_ms, of_whole), len(stage_ms))


def held_back(profile: CostTable, found: Sequence[Told], count: int, draws: int) -> dict[str, list[Agreement]]:
    """Return the agreement of the profile and of both fits with placements that they were not fitted to.

    Args:
        profile: the costs.
        found: measured placements.
        count: how many of them the model is fitted to.
        draws: random choices of these, each of which gives one agreement.
    """
    agreements: dict[str, list[Agreement]] = {PROFILE: [], WHOLES: [], STAGES: []}
    reference_ms = typical_ms(found)
    for number in range(draws):
        order = generator(number, "benchmark", "held back").permutation(len(found))
        seen, rest = [found[i] for i in order[:count]], [found[i] for i in order[count:]]
        choices, measured_ms = (
            np.stack([one.choice for one in rest]),
            reference_ms * np.array([one.ratio for one in rest]),
        )
        tables = profile, _fitted(profile, [t.whole for t in seen]), _fitted(profile, [t.stages for t in seen])
        for name, table in zip(agreements, tables, strict=True):
            agreements[name].append(agreement(latency_ms(table, choices), measured_ms))
    return agreements


def typical_ms(found: Sequence[Told]) -> float:
    """Return the median latency of the reference, which a fit predicts latencies beside, ms."""
    return float(np.median([one.whole.reference_ms for one in found]))


def means(found: Sequence[Agreement]) -> tuple[float, float]:
    """Return the mean rank correlation and the mean error."""
    return float(np.mean([a.spearman for a in found])), float(np.mean([a.mape for a in found]))


def figures(found: Sequence[Agreement]) -> str:
    """Return both as text."""
    spearman, mape = means(found)
    return f"{spearman:.3f} / {mape:.1%}"


def _fitted(profile: CostTable, equations: Sequence[Equations]) -> CostTable:
    refit = Refit(profile)
    for one in equations:
        refit.add(one)
    return refit.table()
