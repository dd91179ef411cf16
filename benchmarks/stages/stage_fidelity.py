"""Predictions of cost models fitted to whole placements and to their stages, on simulated machines.

Random placements, from one region to as many as there are groups, are run submodel by submodel. The model is fitted to
some of them, once by what each took as a whole, and once by this and what each of its submodels took, and judged on all
others, for several random draws: Spearman rank correlation / mean absolute percentage error. The profile is the true
one, each cost wrong by a random factor, and the stages of a placement have the noise of the whole.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.fitting import Told, figures, held_back, told
from benchmarks.prepared import prepared_recipe
from benchmarks.report import Row
from benchmarks.searches.place import Place
from benchmarks.searches.wrong_costs import wrong_costs
from ovplace.backends.simulate import Backend
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, Job, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.ir.legal.groups import legal_groups
from ovplace.plugins import registry

SPEC = MeasureSpec(warmup=1, blocks=3, repeats=2, min_time_ms=6.0, hopeless_ratio=4.0)
WRONG = 0.4
"""Standard deviation of the logarithms of the factors on the costs."""

DRAWS = 5


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        machines: simulated machines.
        trials: random placements.
        fitted: numbers of placements to fit to.
    """

    models: tuple[str, ...] = ("unet", "detector-head", "decoder")
    machines: tuple[str, ...] = ("i9-12900k+flex170", "core-ultra")
    trials: int = 100
    fitted: tuple[int, ...] = (5, 10, 20, 40)


SHORT = Options(models=("demo",), machines=("core-ultra",), trials=12, fitted=(4,))


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model, machine and number of placements."""
    for machine in options.machines:
        for model in options.models:
            profile, found = _measured(model, machine, options.trials)
            stages = float(np.median([one.n_stages for one in found]))
            for count in (count for count in options.fitted if count < len(found)):
                judged = held_back(profile, found, count, DRAWS)
                case_row: Row = {"machine": machine, "model": model, "groups": profile.n_groups, "stages": stages}
                yield {**case_row, "placements": count, **{name: figures(of) for name, of in judged.items()}}


def _measured(model: str, machine: str, trials: int) -> tuple[CostTable, list[Told]]:
    """Return the wrong profile of a recipe on a machine, and placements that ran."""
    with tempfile.TemporaryDirectory() as text:
        place = Place(prepared_recipe(model, Path(text)), machine)
        devices, graph = place.machine.as_devices(), place.graph
        backend = Backend(Job(str(place.path), devices, options={"machine": place.machine_name}))
        problem = Problem(graph, legal_groups(graph), devices, backend.supported(), np.zeros((len(graph), 1)))
        profile = wrong_costs(WRONG, 0)(backend.costs(problem.partition))
        fastest = min(place.alone_ms().items(), key=lambda alone: alone[1])[0]
        reference = Candidate(fastest, Placement.uniform(len(graph), fastest, problem.device_names))
        return profile, list(_told(problem, profile, backend, reference, trials))


def _told(problem: Problem, profile: CostTable, backend: Backend, reference: Candidate, trials: int) -> Iterator[Told]:
    draw = registry.load("placers", "random")
    for placement in draw.factory(problem, draw.config({})).ask(trials):
        candidate = Candidate("trial", placement, staged=True)
        if candidate.hash == reference.hash:
            continue
        beside, own = backend.measure([reference, candidate], SPEC)
        if own.ok and beside.ok:
            yield told(problem, profile, placement, own, beside)
