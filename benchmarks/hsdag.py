"""HSDAG's two presets on its three models beside random search and the certified optimum: one JSON line an arm.

    python benchmarks/hsdag.py [--seeds 5] [--jobs 2] [--arms "tuned, 200" "random, 200"]

All of it is simulated, on the machine calibrated to the paper's single-device latencies, with the machine's noise. An
arm is a placer with settings and a budget of placements measured, each in turns with the faster single device.
`answer` is what a run would end with: of the five best placements, measured ten times more, the fastest if it is surely
faster than that device, else the device. `asked` is the best placement asked for. Both are latencies without noise over
the certified optimum, minus 1.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from calibration import MACHINE, PUBLISHED_MS

from ovplace import plugins
from ovplace.backends.simulate import Backend
from ovplace.core.measurement import Candidate, Job, MeasureSpec, Trial
from ovplace.core.placement import Placement
from ovplace.core.run_config import RunConfig, SearchConfig
from ovplace.core.stats import Interval, ratio_interval
from ovplace.cost.machine_file import load
from ovplace.cost.milp import solve_milp
from ovplace.cost.min_cut import solve_min_cut
from ovplace.cost.model import latency_ms
from ovplace.ir.legal import legal_groups
from ovplace.ir.read import own_name, read_graph
from ovplace.search.measurer import ratio
from ovplace.search.session import make_problem

IDLE = 200
"""Asks in a row without anything new after which an arm is done, as in a run."""


FINALISTS, ROUNDS = 5, 10
"""Placements that are measured again at the end, and how often."""


@dataclass(frozen=True)
class Arm:
    """What is compared: a placer, its settings, how the model is coarsened, placements measured."""

    placer: str
    budget: int
    coarsener: str = "chains"
    settings: Mapping[str, object] = field(default_factory=dict)


ALONE = {"uniform": False, "warm_start": 0, "cost_features": False}
ARMS = {
    "paper, 2000": Arm("hsdag", 2000, "none", {"preset": "paper"}),
    "paper, co-located, 2000": Arm(
        "hsdag", 2000, "colocate", {"preset": "paper", "nodes": "groups", "grouping": "fixed"}
    ),
    "random, 2000": Arm("random", 2000, "none"),
    "tuned, 200": Arm("hsdag", 200),
    "tuned without uniform placements and cost model, 200": Arm("hsdag", 200, settings=ALONE),
    "min_cut, 200": Arm("min_cut", 200),
    "local_search, 200": Arm("local_search", 200),
    "random, 200": Arm("random", 200),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--models", nargs="+", choices=PUBLISHED_MS, default=list(PUBLISHED_MS))
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(arguments.models, Path(folder))
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(arguments.jobs, mp_context=spawn, initializer=_one_thread) as pool:
            for model in arguments.models:
                optimum_ms, bound_ms = pool.submit(optimum, folder, model).result()
                about = {"model": model, "simulated": MACHINE, "optimum_ms": optimum_ms, "bound_ms": bound_ms}
                for arm in arguments.arms:
                    seeds = range(arguments.seeds)
                    played = list(pool.map(play, *zip(*((folder, model, arm, seed) for seed in seeds), strict=True)))
                    print(json.dumps(about | {"arm": arm} | summary(played, optimum_ms)), flush=True)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def build(models: Sequence[str], folder: Path) -> None:
    from calibration import build as build_model

    for name in models:
        build_model(name, folder)


@cache
def backend(folder: str, model: str, seed: int) -> Backend:
    options = {"machine": MACHINE, "noise": 1.0, "seed": seed}
    return Backend(Job(str(Path(folder) / f"{model}.xml"), load(MACHINE).as_devices(), options=options))


def optimum(folder: str, model: str) -> tuple[float, float]:
    """Return the latency of the best placement of legal groups that the solvers find, and what none goes below."""
    table = legal_table(folder, model)
    solutions = [solve_min_cut(table), solve_milp(table, model="full", time_limit_s=60)]
    values = [float(latency_ms(table, solution.device_of[None])[0]) for solution in solutions]
    return min(values), max(solution.certificate.lower_bound_ms for solution in solutions)


def legal_table(folder: str, model: str):  # noqa: ANN201 - a benchmark
    path = Path(folder) / f"{model}.xml"
    graph = read_graph(path)
    return load(MACHINE).table(graph, legal_groups(graph), own_name(path))


def play(folder: str, model: str, name: str, seed: int) -> dict[str, float]:
    """Search once, and return what came of it."""
    arm, source = ARMS[name], backend(folder, model, seed)
    graph = read_graph(Path(folder) / f"{model}.xml")
    settings = RunConfig(
        search=SearchConfig(placer=arm.placer, coarsener=arm.coarsener, seed=seed), placer=arm.settings
    )
    problem = make_problem(settings, graph, load(MACHINE).as_devices(), source.supported())
    problem = replace(problem, costs=source.costs(problem.partition))
    start = time.perf_counter()
    plugin = plugins.load("placers", arm.placer)
    placer = plugin.factory(problem, plugin.config(dict(arm.settings)))
    own_s, measure = time.perf_counter() - start, Measure(source, len(graph), problem.device_names)
    trials: list[Trial] = []
    idle = 0
    while len(measure.known) < arm.budget and idle < IDLE:
        before, start = len(measure.known), time.perf_counter()
        asked = placer.ask(1)
        own_s += time.perf_counter() - start
        if not asked:
            break
        answers = [measure(len(trials) + i, placement) for i, placement in enumerate(asked)]
        trials += answers
        idle = idle + 1 if len(measure.known) == before else 0
        start = time.perf_counter()
        placer.tell(answers)
        own_s += time.perf_counter() - start
    legal, table = legal_groups(graph), legal_table(folder, model)
    first = np.array([members[0] for members in legal.members])
    placements = [trial.placement for trial in trials]
    true_ms = latency_ms(table, np.stack([placement.device_of[first] for placement in placements]))
    answer = measure.answer(trials)
    info = getattr(placer, "info", {})
    return {
        "asked_ms": float(true_ms.min()),
        "answer_ms": float(latency_ms(table, answer.device_of[first][None])[0]),
        "measured": len(measure.known),
        "found_at": int(true_ms.argmin()),
        "uniform": float(placements[int(true_ms.argmin())].is_uniform),
        "groups": float(info.get("groups", np.nan)),
        "own_s": own_s,
    }


class Measure:
    """Answers each placement once, beside the faster single device."""

    def __init__(self, source: Backend, n_ops: int, names: tuple[str, ...]) -> None:
        """Find the faster single device."""
        self._source, self.known = source, {}
        alone = [Candidate(name, Placement.uniform(n_ops, name, names)) for name in names]
        measured = source.measure(alone, MeasureSpec())
        self._reference = min(zip(alone, measured, strict=True), key=lambda pair: pair[1].median_ms)[0]

    def __call__(self, number: int, placement: Placement) -> Trial:
        """Return the answer to a placement, measured now if it is new."""
        if placement.hash not in self.known:
            candidate = Candidate("trial", placement)
            beside, own = self._source.measure([self._reference, candidate], MeasureSpec())
            self.known[placement.hash] = Trial(number, placement, own, ratio(own, beside), "benchmark", False)
        return self.known[placement.hash]

    def answer(self, trials: Sequence[Trial]) -> Placement:
        """Return the fastest finalist where the interval of its ratio is below 1, else the faster single device."""
        distinct = {trial.placement.hash: trial for trial in trials}
        finalists = sorted(distinct.values(), key=lambda trial: trial.ratio)[:FINALISTS]
        intervals = [self._again(trial.placement) for trial in finalists]
        best = min(range(len(finalists)), key=lambda i: intervals[i].value)
        assert self._reference.placement is not None
        return finalists[best].placement if intervals[best].high < 1 else self._reference.placement

    def _again(self, placement: Placement) -> Interval:
        """Return the ratio to the reference over fresh compilations."""
        asked = [self._reference, Candidate("finalist", placement)]
        rounds = [self._source.measure(asked, MeasureSpec()) for _ in range(ROUNDS)]
        beside, own = zip(*((a.block_medians_ms, b.block_medians_ms) for a, b in rounds), strict=True)
        return ratio_interval(own, beside)


def summary(played: Sequence[Mapping[str, float]], optimum_ms: float) -> dict[str, object]:
    asked, answer = (np.array([p[name] for p in played]) / optimum_ms - 1 for name in ("asked_ms", "answer_ms"))
    return {
        "asked": {"median": round(float(np.median(asked)), 4), "worst": round(float(asked.max()), 4)},
        "answer": {"median": round(float(np.median(answer)), 4), "worst": round(float(answer.max()), 4)},
        "asked_within_1_percent": f"{int((asked <= 0.01).sum())} of {len(played)}",
        "best_asked_uniform": f"{int(sum(p['uniform'] for p in played))} of {len(played)}",
        "measured": [int(p["measured"]) for p in played],
        "found_at": [int(p["found_at"]) for p in played],
        "groups": [int(p["groups"]) for p in played if not np.isnan(p["groups"])],
        "own_s": round(float(np.median([p["own_s"] for p in played])), 2),
    }


if __name__ == "__main__":
    main()
