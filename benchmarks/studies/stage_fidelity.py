"""Predictions of cost models fitted to whole placements and to their stages.

Random placements, from one region to as many as there are groups, are run submodel by submodel. The model is fitted to
some of them, once by what each took as a whole and once by what each of its submodels took, and judged on all others,
for several random draws: Spearman rank correlation / mean absolute percentage error. On real devices the profile is
measured as `ovplace optimize` does; on simulated machines it is the true one, each cost wrong by a random factor, and
the stages of a placement have the noise of the whole.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Row
from benchmarks.searches.place import Place
from benchmarks.searches.wrong_costs import wrong_costs
from benchmarks.sessions import DEVICES, measured_session
from ovplace import zoo
from ovplace.backends.simulate import Backend
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, Job, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.calibration.agreement import Agreement, agreement
from ovplace.cost.calibration.equations import Equations
from ovplace.cost.calibration.refit import Refit
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.plugins import registry
from ovplace.profiling.obtain import profile_costs
from ovplace.seeds import generator
from ovplace.session.events import silent
from ovplace.session.measurer import latency_ratio

SPEC = MeasureSpec(warmup=1, blocks=3, repeats=2, min_time_ms=6.0, hopeless_ratio=4.0)
WRONG = 0.4
"""Standard deviation of the logarithms of the factors on the costs of a simulated machine."""

DRAWS = 5


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        devices: names of devices in `benchmarks.sessions`, or of simulated machines.
        trials: random placements.
        fitted: numbers of placements to fit to.
        profile_s: seconds of each profile of real devices.
    """

    models: tuple[str, ...] = ("unet", "detector-head", "decoder")
    devices: tuple[str, ...] = ("i9-12900k+flex170", "core-ultra")
    trials: int = 100
    fitted: tuple[int, ...] = (5, 10, 20, 40)
    profile_s: float = 60.0


SHORT = Options(models=("demo",), devices=("core-ultra",), trials=12, fitted=(4,))

Measure = Callable[[Sequence[Candidate], MeasureSpec], list[Measurement]]


@dataclass(frozen=True)
class Case:
    """A model on devices that can be measured.

    Attributes:
        problem: the model and its groups.
        profile: costs of the groups, before any placement was measured.
        reference: what each placement is measured in turns with.
        measure: times candidates.
    """

    problem: Problem
    profile: CostTable
    reference: Candidate
    measure: Measure


@dataclass(frozen=True)
class Told:
    """A measured placement: its choice `[G]`, and what it says as a whole and by its stages."""

    choice: IntArray
    latency_ms: float
    whole: Equations
    stages: Equations


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model, devices and number of placements."""
    for devices in options.devices:
        for model in options.models:
            with _opened(model, devices, options.profile_s) as case:
                told = list(_told(case, options.trials))
            stages = float(np.median([len(one.stages.relative) for one in told]))
            for count in (count for count in options.fitted if count < len(told)):
                case_row: Row = {"devices": devices, "model": model, "groups": case.problem.n_groups, "stages": stages}
                yield {**case_row, "placements": count, **_judged(case.profile, told, count)}


@contextmanager
def _opened(model: str, devices: str, profile_s: float) -> Iterator[Case]:
    """Open a recipe on real devices or on a simulated machine."""
    if devices in DEVICES:
        with measured_session(model, devices) as opened:
            profile = profile_costs(opened.measurer, opened.baselines, silent, profile_s)
            session = opened.measurer.session
            yield Case(session.problem, profile.table, opened.baselines[0].candidate, session.pool.measure)
        return
    with tempfile.TemporaryDirectory() as text:
        source, path = Path(text) / f"{model}.xml", Path(text) / "prepared" / f"{model}.xml"
        path.parent.mkdir()
        zoo.save_recipe(model, zoo.recipe(model).Config(), source)
        prepare(source, path)
        yield _simulated(Place(path, devices))


def _simulated(place: Place) -> Case:
    """Return a prepared model on a simulated machine; the reference is its fastest device."""
    devices, graph = place.machine.as_devices(), place.graph
    backend = Backend(Job(str(place.path), devices, options={"machine": place.machine_name}))
    problem = Problem(graph, legal_groups(graph), devices, backend.supported(), np.zeros((len(graph), 1)))
    alone = place.alone_ms()
    fastest = min(alone, key=lambda name: alone[name])
    reference = Candidate(fastest, Placement.uniform(len(graph), fastest, problem.device_names))
    return Case(problem, wrong_costs(WRONG, 0)(backend.costs(problem.partition)), reference, backend.measure)


def _told(case: Case, count: int) -> Iterator[Told]:
    """Yield random placements that ran."""
    draw, shares = registry.load("placers", "random"), reader_shares(case.problem.devices)
    for placement in draw.factory(case.problem, draw.config({})).ask(count):
        candidate = Candidate("trial", placement, staged=True)
        if candidate.hash == case.reference.hash:
            continue
        beside, own = case.measure([case.reference, candidate], SPEC)
        if not (own.ok and beside.ok):
            continue
        relative, choice = latency_ratio(own, beside), case.problem.lower(placement)
        whole = Equations.of_whole(case.profile, choice, relative, own.median_ms / relative)
        stages = whole
        if own.stages_ms:
            found = Stages.of(case.problem.graph, case.problem.partition, placement.device_of, shares)
            stage_ms, of_whole = found.summed(np.array(own.stages_ms)), (relative, own.median_ms)
            stages = Equations.of_stages(case.profile, choice, found, stage_ms, of_whole)
        yield Told(choice, relative * beside.median_ms, whole, stages)


def _judged(profile: CostTable, told: Sequence[Told], count: int) -> Row:
    """Return the agreement of the profile and of both fits with placements that they were not fitted to."""
    found: dict[str, list[Agreement]] = {"profile": [], "fitted to wholes": [], "fitted to stages": []}
    for number in range(DRAWS):
        order = generator(number, "benchmark", "stage_fidelity").permutation(len(told))
        seen, rest = [told[i] for i in order[:count]], [told[i] for i in order[count:]]
        choices, measured = np.stack([one.choice for one in rest]), np.array([one.latency_ms for one in rest])
        tables = (profile, _fitted(profile, [t.whole for t in seen]), _fitted(profile, [t.stages for t in seen]))
        for name, table in zip(found, tables, strict=True):
            found[name].append(_agreement(table, choices, measured))
    return {name: _figures(of) for name, of in found.items()}


def _fitted(profile: CostTable, equations: Sequence[Equations]) -> CostTable:
    refit = Refit(profile)
    for one in equations:
        refit.add(one)
    return refit.table()


def _agreement(table: CostTable, choices: IntArray, measured_ms: FloatArray) -> Agreement:
    return agreement(latency_ms(table, choices), measured_ms)


def _figures(found: Sequence[Agreement]) -> str:
    return f"{np.mean([a.spearman for a in found]):.3f} / {np.mean([a.mape for a in found]):.1%}"
