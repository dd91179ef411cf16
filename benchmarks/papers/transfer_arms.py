"""Trained policies on unseen problems that need several devices, and policies that learn on one problem alone.

The problems are generated models that no policy was trained on, on `core-ultra` and on generated machines, unseen too,
where no single device is within 1 % of the best placement that the fast solvers find. Latency of the
policy's choice over that of this placement: median / 90th percentile / worst. *Zero-shot*: the shipped policy. *+ N*:
after N updates on that problem alone. *Alone, N*: N updates of a new policy on that problem. These updates learn from
latencies of the policy's own placements under the cost model; the solvers' placement is not shown. The choice of
`hsdag` is the best single device where that costs less, that of `placeto` the best placement of a sweep that begins
there. `seq2seq` is a search, preset `tuned`, whose best placement counts, of as many as N updates of `hsdag` draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.report import Row
from benchmarks.shipped import PLANS, new_trainer, shipped_plan, shipped_trainer
from ovplace.core.measurement import Measurement, Trial
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.placers.hsdag.trainer import SAMPLES
from ovplace.plugins import registry
from ovplace.plugins.protocols import Trainer
from ovplace.simulation.machine_file import load_machine
from ovplace.train.random_machines import random_machines
from ovplace.train.training_problems import ModelRecipe, TrainingProblem, training_problems
from ovplace.zoo.families import SIZE

UNSEEN_SEED = 1
"""Of the generated machines; those of the training have seed 0."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        families: of generated models.
        cases: problems of each family.
        a_model: problems of one model, at most.
        updates: N; 0 for one device and zero-shot only.
        machines: generated machines.
    """

    families: tuple[str, ...] = ("attention", "cells", "recurrent")
    cases: int = 30
    a_model: int = 3
    updates: int = 10
    machines: int = 6


SHORT = Options(families=("recurrent",), cases=1, updates=1)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each family and way to place."""
    for family in options.families:
        problems = list(_problems(family, options))
        found = {"one device": [problem.single_ms / problem.best_ms for problem in problems]}
        for placer in PLANS:
            found |= _arms(placer, problems, options.updates)
        if count := options.updates * SAMPLES:
            found[f"seq2seq, best of {count}"] = [_searched(problem, count) for problem in problems]
        for arm, ratios in found.items():
            yield {"family": family, "cases": len(problems), "way": arm, "latency over the best known": _spread(ratios)}


def _problems(family: str, options: Options) -> Iterator[TrainingProblem]:
    """Yield problems whose best known placement uses several devices, of models from the held-out half on."""
    plan = shipped_plan("hsdag")
    machines = [load_machine("core-ultra"), *random_machines(plan.machines, UNSEEN_SEED, options.machines)]
    found, index = 0, SIZE // 2
    while found < options.cases:
        model = ModelRecipe(f"{family} {index}", family, {"index": index})
        mixed = [problem for problem in training_problems(model, machines, (), 0, 0.0) if problem.mixed]
        for problem in mixed[: min(options.a_model, options.cases - found)]:
            found += 1
            yield problem
        index += 1


def _arms(placer: str, problems: Sequence[TrainingProblem], updates: int) -> dict[str, list[float]]:
    """Return the ratios of a placer's policies: shipped, the same after updates, and a new one after as many."""
    new, shipped, first = new_trainer(placer), shipped_trainer(placer), shipped_plan(placer).config.updates
    zero_shot = {f"{placer}, zero-shot": [problem.over_best(shipped.place(problem.problem)) for problem in problems]}
    if not updates:
        return zero_shot
    return zero_shot | {
        f"{placer} + {updates}": [_learned(shipped, problem, range(first, first + updates)) for problem in problems],
        f"{placer} alone, {updates}": [_learned(new, problem, range(updates)) for problem in problems],
    }


def _learned(trainer: Trainer, problem: TrainingProblem, updates: range) -> float:
    """Return the ratio after updates on a problem, which are undone."""
    before = trainer.dump()
    for number in updates:
        trainer.reinforce([problem.problem], number)
    ratio = problem.over_best(trainer.place(problem.problem))
    trainer.restore(before)
    return ratio


def _searched(problem: TrainingProblem, count: int) -> float:
    """Return the ratio of the best of `count` placements that seq2seq asks for, under the cost model."""
    plugin, costs = registry.load("placers", "seq2seq"), problem.problem.costs
    assert costs is not None
    placer, best, asked = plugin.factory(problem.problem, plugin.config({})), np.inf, 0
    while asked < count and (placements := placer.ask(count - asked)):
        ms = latency_ms(costs, np.stack([problem.problem.lower(placement) for placement in placements]))
        placer.tell([
            Trial(asked + i, placement, Measurement((one,), (1,)), one / problem.single_ms, "seq2seq")
            for i, (placement, one) in enumerate(zip(placements, ms.tolist(), strict=True))
        ])  # fmt: skip
        best, asked = min(best, float(ms.min())), asked + len(placements)
    return best / problem.best_ms


def _spread(ratios: Sequence[float]) -> str:
    return f"{np.median(ratios):.3f} / {np.quantile(ratios, 0.9, method='higher'):.3f} / {max(ratios):.3f}"
