"""What placers make of devices that fail on operations they say they support, on simulated machines.

    python benchmarks/failing_choices.py [--failing 3] [--placers min_cut local_search] [--seeds 5] [--budget 100]

Of the groups that the best placement has on another device than the fastest single one, some fail there, drawn at
random: every placement that has such a group there does not run. No placer is told. One JSON line for each placer and
model: latency of the fastest placement that ran, without noise, over the best known that avoids all failures, minus 1,
after some numbers of measurements, failed ones included: the median of the seeds and the worst; and the median share of
measurements that failed. The fastest single device counts from the beginning, since a run measures that first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from simulated_play import Arm, Place, apart, backend, model_of, play, problem_of
from wrong_profile import options, places, row, so_far_ms

from ovplace.backends.simulate import Backend
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_certified
from ovplace.graphs.op_graph import BoolArray, FloatArray
from ovplace.seeds import generator


def main() -> None:
    arguments = options(__doc__, "--failing", 3, ["min_cut", "local_search"])
    for place in places():
        for name in arguments.placers:
            arm = Arm(name, arguments.budget)
            found = [one(place, arm, seed, arguments.failing) for seed in range(arguments.seeds)]
            excess = np.stack([values for values, _ in found])
            failed = float(np.median([share for _, share in found]))
            print(json.dumps(row(place, arm, excess, failed=failed)), flush=True)


class Failing(Backend):
    """A simulated machine on which some operations fail on some devices."""

    fails: BoolArray  # [N, D]

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Answer as the simulated machine does, where nothing fails."""
        return [self._checked(c, m) for c, m in zip(candidates, super().measure(candidates, spec), strict=True)]

    def _checked(self, candidate: Candidate, measured: Measurement) -> Measurement:
        device_of = candidate.placement.device_of if candidate.placement else np.zeros(len(self.fails), dtype=np.int64)
        if candidate.name == "trial" and self.fails[np.arange(len(device_of)), device_of].any():
            return Measurement.failed(ErrorKind.COMPILE, "fails by order of the benchmark")
        return measured


def one(place: Place, arm: Arm, seed: int, count: int) -> tuple[FloatArray, float]:
    """Return the excess over the best after each measurement, `[budget]`, and the share of failed ones."""
    with apart(place) as own:
        source = backend(own, seed, Failing)
        assert isinstance(source, Failing)
        source.fails = drawn(own, arm, source, seed, count)
        best_ms = optimum_without(own, source.fails)
        played = play(own, arm, source, seed)
    ran = [trial.measurement.ok for trial in played.measure.known.values()]
    return so_far_ms(place, played, arm.budget) / best_ms - 1, 1 - float(np.mean(ran)) if ran else 0.0


def drawn(place: Place, arm: Arm, source: Backend, seed: int, count: int) -> BoolArray:
    """Return which operation fails on which device, `[N, D]`: whole groups of the search."""
    problem = problem_of(place, arm, source, seed)
    table = source.costs(problem.partition)
    best = best_certified(table, 20).device_of
    alone = latency_ms(table, table.uniform_choices())
    elsewhere = np.flatnonzero(best != int(np.argmin(alone)))
    rng = generator(seed, "benchmark", "failing")
    chosen = rng.choice(elsewhere, min(count, len(elsewhere)), replace=False)
    fails = np.zeros((len(problem.graph), table.n_devices), dtype=bool)
    for group in chosen:
        fails[problem.partition.members[group], best[group]] = True
    return fails


def optimum_without(place: Place, fails: BoolArray) -> float:
    """Return the latency of the best placement of legal groups in which nothing fails, ms."""
    _, legal, table = model_of(place)
    forbidden = np.stack([fails[members].any(axis=0) for members in legal.members])
    allowed: CostTable = replace(table, group_ms=np.where(forbidden, np.inf, table.group_ms))
    return best_certified(allowed, 60).value_ms


if __name__ == "__main__":
    main()
