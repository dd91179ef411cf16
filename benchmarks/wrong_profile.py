"""What placers that take costs make of wrong ones, on simulated machines that need several devices.

    python benchmarks/wrong_profile.py [--spread 0.5] [--placers min_cut milp etf] [--seeds 5] [--budget 100]

Each number of the profile is multiplied by a log-normal one of that spread, and so are all numbers of a kind together:
group times on a device, what neighbours save, transfers, overheads. One JSON line for each placer and model: latency of
the fastest placement measured, without noise, over the best known, minus 1, after some numbers of measurements: the
median of the seeds and the worst; and the seconds of the placer itself. The fastest single device counts from the
beginning, since a run measures that first.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from simulated_play import Arm, Place, Played, apart, backend, build, one_thread, optimum, play, true_ms

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import FloatArray
from ovplace.seeds import generator

PLACES = (
    ("decoder", "i9-12900k+flex170"),
    ("detector-head", "i9-12900k+flex170"),
    ("unet", "core-ultra"),
    ("detector-head", "core-ultra"),
)
KINDS = ("group_ms", "saving_ms", "latency_ms", "ms_per_byte", "submodel_ms")


def main() -> None:
    placers = ["min_cut", "milp", "etf", "hsdag", "placeto", "local_search"]
    arguments = options(__doc__, "--spread", 0.5, placers)
    for place in places():
        best_ms, _ = optimum(place)
        for name in arguments.placers:
            arm = Arm(name, arguments.budget)
            found = [one(place, arm, seed, arguments.spread) for seed in range(arguments.seeds)]
            excess = np.stack([ms for ms, _ in found]) / best_ms - 1
            own_s = float(np.median([seconds for _, seconds in found]))
            print(json.dumps(row(place, arm, excess, own_s=own_s)), flush=True)


def options(about: str, own: str, value: float, placers: Sequence[str]) -> argparse.Namespace:
    """Return what the command line says: an option of the benchmark's own, placers, seeds, budget."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(own, type=type(value), default=value)
    parser.add_argument("--placers", nargs="+", default=placers)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=100)
    return parser.parse_args()


def places() -> Iterator[Place]:
    """Build the models, and yield each with its machine."""
    one_thread()
    with tempfile.TemporaryDirectory() as folder:
        build(sorted({model for model, _ in PLACES}), Path(folder))
        for model, machine in PLACES:
            yield Place(folder, model, machine)


def one(place: Place, arm: Arm, seed: int, spread: float) -> tuple[FloatArray, float]:
    """Return the true latency of the best so far after each measurement, `[budget]`, and the placer's seconds."""
    with apart(place) as own:
        played = play(own, arm, backend(own, seed), seed, believed=wrong(spread, seed))
        return so_far_ms(place, played, arm.budget), played.total_s


def wrong(spread: float, seed: int) -> Callable[[CostTable], CostTable]:
    rng = generator(seed, "benchmark", "wrong_profile")

    def of(costs: CostTable) -> CostTable:
        off = {name: _off(getattr(costs, name), spread, rng) for name in KINDS}
        return replace(costs, **off)

    return of


def _off(costs: FloatArray, spread: float, rng: np.random.Generator) -> FloatArray:
    together = rng.standard_normal(costs.shape[-1])  # a device's; of links, those to a device
    return costs * np.exp(spread * (rng.standard_normal(costs.shape) + together))


def so_far_ms(place: Place, played: Played, budget: int) -> FloatArray:
    """Return the true latency of the best so far after each measurement, failed ones included, `[budget]`."""
    value = np.full(budget + 1, np.inf)
    value[0] = true_ms(place, [played.measure.reference.placement])[0]
    ran = [i for i, trial in enumerate(played.trials) if trial.measurement.ok]
    if ran:
        latency_ms = true_ms(place, [played.trials[i].placement for i in ran])
        np.minimum.at(value, np.array(played.counts)[ran], latency_ms)
    return np.minimum.accumulate(value)[1:]


def row(place: Place, arm: Arm, excess: FloatArray, **beside: float) -> dict[str, object]:
    """Return what a line says of the excess `[seeds, budget]`, and what stands beside it."""
    at = [count for count in (5, 20, 100, 500, 2000) if count <= arm.budget]
    return {
        "model": place.model,
        "simulated": place.machine,
        "placer": arm.placer,
        "median": {count: round(float(np.median(excess[:, count - 1])), 4) for count in at},
        "worst": {count: round(float(excess[:, count - 1].max()), 4) for count in at},
        **{name: round(value, 2) for name, value in beside.items()},
    }


if __name__ == "__main__":
    main()
