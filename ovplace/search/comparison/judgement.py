"""The rules of the final comparison: whom the placement meets, when the rounds end, and who stands for all baselines.

Nothing here measures, so that the error rates of these very rules can be simulated (`verdict_rates`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.core.statistics import Interval
from ovplace.core.verdict import LEVEL
from ovplace.search.comparison.rounds import Rounds

CLOSE_RATIO = 1.15
"""Baselines whose latency is at most this many times the best one's are compared, too. One noisy figure each cannot
say which of them is the best: with 10 % between two of them and 3 to 5 % of noise from compilation to compilation, a
placement as fast as the better one was called faster in 5 to 7 % of simulated runs, because the worse one stood for
both."""

LOST_RATIO, _LOST_ROUNDS = 1.5, 3
"""A placement that took this many times as long as the baseline in each of so many rounds has lost; further rounds,
each of which compiles it anew, would take the user's time for a second digit. It costs no gain: where half of six
rounds are that slow, no interval lies below 1."""

_FAILED_ROUNDS = 3
"""The comparison ends if so many rounds failed and none has worked: each of them may take the deadlines of several
requests."""

SURE_LEVEL, _LOOK_ROUNDS = 0.999, 6
"""Halfway, but not before so many rounds, the comparison ends if the placement is faster even by an interval of this
level. One look at so high a level leaves the level of the final interval as it is, but for 0.05 % (Peto et al., "Design
and analysis of randomized clinical trials requiring prolonged observation of each patient", 1976)."""


def close_to_best(ratios: Sequence[float]) -> list[int]:
    """Return which baselines may be the best one by their latency ratios to a reference, the lowest first."""
    order = np.argsort(ratios, kind="stable")
    return [int(i) for i in order if ratios[i] <= CLOSE_RATIO * ratios[order[0]]]


def leading(rounds: Rounds, names: Sequence[str]) -> str:
    """Return the fastest of some placements by the rounds so far, the first where these do not tell.

    Args:
        rounds: measured so far.
        names: the placements.
    """
    found = {name: ratio.value for name in names[1:] if (ratio := rounds.interval(name, names[0]))}
    return min(names, key=lambda name: found.get(name, 1.0 if name == names[0] else np.inf))


def rounds_wanted(
    rounds: Rounds, name: str, close: Sequence[str], done: int, planned: int, look: int | None = None
) -> int:
    """Return how many rounds are to be measured in all, as far as those measured so far tell.

    Args:
        rounds: measured so far, in which both the placement and the first baseline worked.
        name: the placement.
        close: the baselines that it is to beat.
        done: number of rounds measured so far, failures included.
        planned: number of rounds where nothing is decided early and nothing is unstable.
        look: number of rounds after which the comparison ends if the gain is beyond doubt; half of them by default.
    """
    if done >= _FAILED_ROUNDS and not len(rounds):
        return done
    ratios = rounds.ratios(name, close[0])
    if len(ratios) >= _LOST_ROUNDS and bool((ratios > LOST_RATIO).all()):
        return done
    if done == (look or planned // 2) >= _LOOK_ROUNDS and _is_sure(rounds, name, close):
        return done
    first = Rounds(rounds.measured[: rounds.planned])
    return planned + planned // 2 if done >= planned and first.is_unstable(name, close) else planned


def _is_sure(rounds: Rounds, name: str, close: Sequence[str]) -> bool:
    intervals = [rounds.interval(name, other, SURE_LEVEL) for other in close]
    return all(found is not None and found.high < 1 for found in intervals)


def hardest_to_beat(rounds: Rounds, name: str, close: Sequence[str], level: float = LEVEL) -> tuple[str, Interval]:
    """Return the baseline that stands for all, with the placement's ratio to it: faster means faster than each.

    If the placement is not, the baseline is the answer: of those that it does not beat, the fastest.

    Args:
        rounds: those of the final comparison.
        name: the placement.
        close: the baselines that it is to beat; the first has an interval.
        level: probability that an interval holds the truth.
    """
    ratios = {other: interval for other in close if (interval := rounds.interval(name, other, level))}
    unbeaten = [other for other, ratio in ratios.items() if ratio.high >= 1]
    if unbeaten:
        against = max(unbeaten, key=lambda other: ratios[other].value)
    else:
        against = max(ratios, key=lambda other: ratios[other].high)
    return against, ratios[against]
