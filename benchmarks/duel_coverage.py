"""How often the duel's 95 % interval holds the true ratio, by simulation, as JSON.

    python benchmarks/duel_coverage.py [--duels 4000]

Each row is one kind of noise: `round` is what a compilation adds to a candidate's latency (it differs from process to
process), `block` what each block adds, both as standard deviations of the logarithm. `faster` and `slower` are how
often a placement that is exactly as fast as the baseline would be called so; `width` is the median width.
The percentile bootstrap over rounds and blocks, which looks like the natural choice, stands beside it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import numpy as np

from ovplace.core.statistics import Interval, Samples, ratio_interval

CASES = [
    {"rounds": rounds, "blocks": 10, "round": between, "block": within}
    for rounds in (2, 3, 4, 6, 10)
    for between, within in ((0.03, 0.02), (0.0, 0.02), (0.03, 0.0), (0.10, 0.05))
]
Rule = Callable[[list[Samples], list[Samples], np.random.Generator], Interval]


def simulated(case: dict[str, float], ratio: float, rng: np.random.Generator) -> tuple[list[Samples], list[Samples]]:
    """Return block medians in ms of both sides, `[R][B]` each."""
    shape = (2, int(case["rounds"]), int(case["blocks"]))
    logs = rng.normal(0, case["round"], (*shape[:2], 1)) + rng.normal(0, case["block"], shape)
    sides = 10 * np.exp(logs)
    return list(ratio * sides[0]), list(sides[1])


def bootstrap(numerator: list[Samples], denominator: list[Samples], rng: np.random.Generator) -> Interval:
    """Return the percentile interval of a bootstrap that draws rounds, then blocks of each."""
    logs = np.log(np.array(numerator) / np.array(denominator))
    rounds, blocks = logs.shape
    chosen = rng.integers(rounds, size=(400, rounds))
    inner = rng.integers(blocks, size=(400, rounds, blocks))
    drawn = np.median(np.median(logs[chosen[..., None], inner], axis=2), axis=1)
    low, high = np.exp(np.percentile(drawn, (2.5, 97.5)))
    return Interval(float(np.exp(np.median(logs))), float(low), float(high))


def coverage(rule: Rule, case: dict[str, float], duels: int) -> dict[str, float]:
    """Return how the intervals of `duels` equal candidates lie."""
    rng = np.random.default_rng(0)
    found = [rule(*simulated(case, 1.0, rng), rng) for _ in range(duels)]
    return {
        "covered": round(float(np.mean([i.low <= 1 <= i.high for i in found])), 4),
        "faster": round(float(np.mean([i.high < 1 for i in found])), 4),
        "slower": round(float(np.mean([i.low > 1 for i in found])), 4),
        "width": round(float(np.median([i.high - i.low for i in found])), 4),
    }


def main() -> None:
    """Print one object a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--duels", type=int, default=4000)
    duels = parser.parse_args().duels

    def student(numerator: list[Samples], denominator: list[Samples], _: np.random.Generator) -> Interval:
        return ratio_interval(numerator, denominator)

    rows = [
        {
            **case,
            "ratio_interval": coverage(student, case, duels),
            "percentile_bootstrap": coverage(bootstrap, case, min(duels, 1000)),
        }
        for case in CASES
    ]
    print(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
