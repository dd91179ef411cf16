"""Medians, ratios and their bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float


def median_interval(samples: Samples, rng: np.random.Generator, resamples: int = 2000) -> Interval:
    """Return the median of `samples` `[S]` with a percentile bootstrap interval."""
    drawn = rng.integers(len(samples), size=(resamples, len(samples)))
    medians = np.median(np.asarray(samples)[drawn], axis=1)
    return _interval(float(np.median(samples)), medians)


def ratio_interval(
    numerator: list[Samples], denominator: list[Samples], rng: np.random.Generator, resamples: int = 4000
) -> Interval:
    """Return the ratio of two candidates that took turns, with a two-level bootstrap interval.

    The outer level draws compilations (the same model differs by several percent from one compilation to the
    next), the inner one the blocks of each: block medians are paired, so a slow spell hits both sides.

    Args:
        numerator: block medians in ms of each compilation, `[R][B]`.
        denominator: the same for the candidate measured beside it.
        rng: source of the resampling.
        resamples: bootstrap samples.

    Source: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013 (random effects at each level).
    """
    logs = [np.log(np.asarray(a) / np.asarray(b)) for a, b in zip(numerator, denominator, strict=True)]
    value = float(np.median([np.median(part) for part in logs]))
    drawn = np.empty(resamples)
    for i in range(resamples):
        rounds = rng.integers(len(logs), size=len(logs))
        inner = [np.median(logs[r][rng.integers(len(logs[r]), size=len(logs[r]))]) for r in rounds]
        drawn[i] = np.median(inner)
    return _exp(_interval(value, drawn))


def _interval(value: float, drawn: Samples) -> Interval:
    low, high = np.percentile(drawn, (2.5, 97.5))
    return Interval(value, float(low), float(high))


def _exp(interval: Interval) -> Interval:
    return Interval(*(float(np.exp(x)) for x in (interval.value, interval.low, interval.high)))
