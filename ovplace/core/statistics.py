"""Medians, percentiles and ratios with their confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes:
        value: the estimate.
        low: lower end of the interval.
        high: upper end of the interval.
        level: probability that the interval holds the truth.
    """

    value: float
    low: float
    high: float
    level: float = 0.95


def median_interval(samples: Samples, rng: np.random.Generator, resamples: int = 2000) -> Interval:
    """Return the median with a percentile bootstrap interval.

    A resample is as many uniform numbers, each of which picks a sample; only those in the middle are drawn. Uniform
    numbers in order divide [0, 1] like a row of exponential times, sums of which have gamma distributions.

    Source: Devroye, "Non-Uniform Random Variate Generation", 1986, V.2 (uniform and exponential spacings).

    Args:
        samples: at least one, `[S]`.
        rng: draws the resamples.
        resamples: number of bootstrap resamples.

    Example:
        >>> median_interval(np.array([1.0, 2.0, 3.0]), np.random.default_rng(0))
        Interval(value=2.0, low=1.0, high=3.0, level=0.95)
    """
    n = len(samples)
    lower, apart = (n + 1) // 2, 1 - n % 2  # first of the middle ranks, and the step to the second
    ends = rng.standard_gamma((lower, apart, n + 1 - lower - apart), size=(resamples, 3)).cumsum(axis=1)
    drawn = np.minimum((ends[:, :2] / ends[:, 2:] * n).astype(np.int64), n - 1)
    medians = np.sort(samples)[drawn].mean(axis=1)
    low, high = np.percentile(medians, (2.5, 97.5))
    return Interval(float(np.median(samples)), float(low), float(high))


def ratio_interval(
    numerator: Sequence[Samples],
    denominator: Sequence[Samples],
    spread_of: int | None = None,
    level: float = 0.95,
) -> Interval:
    """Return the ratio of two candidates that took turns, with Student's interval over compilations.

    The same model differs by several percent from one compilation to the next, and blocks within one compilation say
    nothing about that: each compilation gives one number, the mean over its blocks of the logarithm of the ratio of
    the two block medians (paired, so that a slow spell hits both sides), and the interval is that of a mean of R
    numbers. Where 4 compilations differ, a percentile bootstrap over compilations and blocks holds the truth in 87 to
    88 % of simulated comparisons, and in 51 to 70 % where 2 do; this interval in 94 to 96 %
    (`python -m benchmarks run interval_coverage`).

    Args:
        numerator: block medians in ms of each compilation, `[R][B]`, R at least 2.
        denominator: the same for the candidate measured in turns with it.
        spread_of: number of first compilations whose spread is that of all; all by default. For measurements that were
            continued because the first ones differ much.
        level: probability that the interval holds the truth.

    Returns:
        The ratio, numerator over denominator.

    Raises:
        ValueError: fewer than two compilations that the spread is of, or the sides do not pair up.

    Example:
        >>> found = ratio_interval([np.array([4.0]), np.array([4.4])], [np.array([5.0]), np.array([5.0])])
        >>> round(found.value, 3), found.low < 1 < found.high
        (0.839, True)

    Source: Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, section 6: the interval comes
    from the means of the highest level that varies.
    """
    logs = np.array([np.log(np.asarray(a) / np.asarray(b)).mean() for a, b in zip(numerator, denominator, strict=True)])
    return _typical(logs, spread_of, level)


def latency_interval(block_medians: Sequence[Samples], spread_of: int | None = None) -> Interval:
    """Return the typical latency of a candidate, with Student's 95 % interval over compilations.

    It is the geometric mean over compilations of that over blocks: the latencies of two candidates that took turns thus
    have exactly the ratio that `ratio_interval` gives, which medians over all samples miss by up to 10 %.

    Args:
        block_medians: block medians in ms of each compilation, `[R][B]`, R at least 2.
        spread_of: as for `ratio_interval`.

    Raises:
        ValueError: fewer than two compilations that the spread is of.

    Example:
        >>> fast, slow = latency_interval([np.array([4.0]), np.array([4.4])]), latency_interval([np.array([5.0])] * 2)
        >>> round(fast.value / slow.value, 3)
        0.839
    """
    return _typical(np.array([np.log(np.asarray(medians)).mean() for medians in block_medians]), spread_of)


def _typical(logs: Samples, spread_of: int | None, level: float = 0.95) -> Interval:
    """Return the exponential of the mean of logarithms `[R]`, with Student's interval."""
    from scipy.special import stdtrit  # Student's quantiles; 0.2 s that most commands do not need

    first = len(logs) if spread_of is None else min(spread_of, len(logs))
    if first < 2:
        raise ValueError(f"an interval needs at least 2 compilations, got {first}")
    # Equal rounds differ in the last bits: without rounding, the same latencies could seem to differ for certain.
    mean = round(float(logs.mean()), 12)
    half = float(stdtrit(first - 1, (1 + level) / 2) * logs[:first].std(ddof=1) / np.sqrt(len(logs)))
    return Interval(float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half)), level)


TAIL = 0.025
"""Probability that the truth lies below a 95 % interval; likewise above."""


def samples_needed(level: float) -> int:
    """Return the number of samples from which a percentile is given.

    That is the smallest number of which the second largest sample is, with 99 % confidence, at least the percentile:
    n with n * level**(n - 1) * (1 - level) + level**n <= 0.01; 64 for p90, 662 for p99. The end of a 95 % interval
    exists from 368 samples on (level**n <= 0.025), but is the largest sample until 555: one interrupted inference.

    Args:
        level: from 0.5 to below 1, such as 0.99.

    Example:
        >>> [samples_needed(level) for level in (0.5, 0.9, 0.95, 0.99)]
        [11, 64, 130, 662]

    Source: MLPerf Inference rules, appendix "Early Stopping Criterion" (`mlcommons/inference_policies`), which leaves
    out the largest sample likewise and comes to the same 64 and 662.
    """
    n = 2
    while n * level ** (n - 1) * (1 - level) + level**n > 0.01:
        n += 1
    return n


def percentile_interval(samples: Samples, level: float) -> Interval:
    """Return a percentile with its interval between two of the sorted samples.

    How many of n independent samples lie below the percentile is binomial, whatever their distribution. The lower end
    is the largest of the sorted samples that lies above the percentile with 2.5 % probability at most, the upper end
    the smallest of them that lies below it with 2.5 % probability at most.

    Args:
        samples: at least `samples_needed(level)`, `[S]`.
        level: from 0.5 to below 1, such as 0.99.

    Raises:
        ValueError: there are fewer samples; the text says how many are needed.

    Example:
        >>> percentile_interval(np.arange(1.0, 102.0), 0.9)
        Interval(value=91.0, low=85.0, high=97.0, level=0.95)

    Source: David and Nagaraja, "Order Statistics", 3rd edition, section 7.1.
    """
    from scipy.special import bdtr  # the binomial distribution

    n, needed = len(samples), samples_needed(level)
    if n < needed:
        raise ValueError(f"p{100 * level:g} needs {needed} samples, got {n}")
    ordered = np.sort(samples)
    below = bdtr(np.arange(n), n, level)  # [S], probability that at most k samples lie below the percentile
    low, high = np.searchsorted(below, TAIL, side="right") - 1, np.searchsorted(below, 1 - TAIL, side="left")
    return Interval(float(np.quantile(ordered, level)), float(ordered[low]), float(ordered[high]))
