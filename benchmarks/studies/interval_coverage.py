"""Coverage of the final comparison's kind of interval, at 95 %, by simulation.

Each row is one kind of noise: `round` is what a compilation adds to a candidate's latency (it differs from process to
process), `block` what each block adds, both as standard deviations of the logarithm. `covered` is how often the
interval holds the true ratio; `faster` and `slower` how often a placement that is exactly as fast as the baseline would
be called so; `width` the median width. `Student` has one number for each round, as the final comparison has it;
`Student of blocks` takes every block for a round of its own; the bootstrap draws rounds, then blocks of each, and takes
percentiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.report import Row
from ovplace.config.schema import ComparisonConfig
from ovplace.core.statistics import Interval, Samples, ratio_interval

NOISE = ((0.03, 0.02), (0.0, 0.02), (0.03, 0.0), (0.10, 0.05))
BLOCKS = ComparisonConfig().blocks

Rule = Callable[[list[Samples], list[Samples], np.random.Generator], Interval]


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        rounds: of a comparison; 12 is the default of a run, which may end after 6.
        comparisons: simulated for each row; the bootstrap gets 1,000 at most.
    """

    rounds: tuple[int, ...] = (2, 4, 6, 12)
    comparisons: int = 4000


SHORT = Options(comparisons=20)


@dataclass(frozen=True)
class Case:
    """A kind of noise, and the number of rounds."""

    rounds: int
    between: float
    within: float


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each case and rule."""
    for rounds in options.rounds:
        for between, within in NOISE:
            case = Case(rounds, between, within)
            noise = {"rounds": rounds, "blocks": BLOCKS, "round": between, "block": within}
            yield {**noise, "rule": "Student", **_coverage(_student, case, options.comparisons)}
            yield {**noise, "rule": "Student of blocks", **_coverage(_of_blocks, case, options.comparisons)}
            few = min(options.comparisons, 1000)
            yield {**noise, "rule": "percentile bootstrap", **_coverage(_bootstrap, case, few)}


def _student(numerator: list[Samples], denominator: list[Samples], _: np.random.Generator) -> Interval:
    return ratio_interval(numerator, denominator)


def _of_blocks(numerator: list[Samples], denominator: list[Samples], _: np.random.Generator) -> Interval:
    return ratio_interval(list(np.concatenate(numerator)[:, None]), list(np.concatenate(denominator)[:, None]))


def _simulated(case: Case, rng: np.random.Generator) -> tuple[list[Samples], list[Samples]]:
    """Return block medians in ms of both sides, `[R][B]` each."""
    shape = (2, case.rounds, BLOCKS)
    logs = rng.normal(0, case.between, (*shape[:2], 1)) + rng.normal(0, case.within, shape)
    sides = 10 * np.exp(logs)
    return list(sides[0]), list(sides[1])


def _bootstrap(numerator: list[Samples], denominator: list[Samples], rng: np.random.Generator) -> Interval:
    """Return the percentile interval of a bootstrap that draws rounds, then blocks of each."""
    logs = np.log(np.array(numerator) / np.array(denominator))
    rounds, blocks = logs.shape
    chosen = rng.integers(rounds, size=(400, rounds))
    inner = rng.integers(blocks, size=(400, rounds, blocks))
    drawn = np.median(np.median(logs[chosen[..., None], inner], axis=2), axis=1)
    low, high = np.exp(np.percentile(drawn, (2.5, 97.5)))
    return Interval(float(np.exp(np.median(logs))), float(low), float(high))


def _coverage(rule: Rule, case: Case, comparisons: int) -> Row:
    """Return how the intervals of equal candidates lie."""
    rng = np.random.default_rng(0)
    found = [rule(*_simulated(case, rng), rng) for _ in range(comparisons)]
    return {
        "covered": f"{np.mean([i.low <= 1 <= i.high for i in found]):.1%}",
        "faster": f"{np.mean([i.high < 1 for i in found]):.1%}",
        "slower": f"{np.mean([i.low > 1 for i in found]):.1%}",
        "width": f"{np.median([i.high - i.low for i in found]):.3f}",
    }
