"""The number of rounds of the final comparison: as configured, and more where the time of the call suffices.

The number is settled after the first round, by its duration alone: a number that depended on the ratios measured so far
would make equal placements look different more often (optional stopping).
"""

from __future__ import annotations

from ovplace.config.schema import RIGOROUS_ROUNDS
from ovplace.core.measurement import Candidate
from ovplace.session.measurer import Measurer


def planned_rounds(measurer: Measurer, best: Candidate) -> int:
    """Return the number of rounds as far as it is known: what an earlier call has planned, or the setting.

    Args:
        measurer: the run's measurer.
        best: the placement that is compared.
    """
    earlier = measurer.store.get(_key(best))
    return max(measurer.session.config.comparison.rounds, earlier if isinstance(earlier, int) else 0)


def plan_rounds(measurer: Measurer, best: Candidate, round_s: float) -> int:
    """Settle the number of rounds after the first one, unless an earlier call has.

    Args:
        measurer: the run's measurer.
        best: the placement that is compared.
        round_s: seconds that the first round took.
    """
    planned = planned_rounds(measurer, best)
    if measurer.store.get(_key(best)) is None:
        if measurer.time.is_limited and round_s > 0:
            planned = max(planned, min(RIGOROUS_ROUNDS, 1 + int(measurer.deadline.left_s / round_s)))
        measurer.store.put(_key(best), planned)
    return planned


def _key(best: Candidate) -> str:
    return f"rounds {best.hash}"
