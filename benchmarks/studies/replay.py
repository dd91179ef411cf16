"""Searches on machines that are fitted to real runs, many times.

Each model is searched once on this CPU and the emulated GPU, in stages. The costs fitted to all its measurements, with
a factor on each stage as far as stages were off the fit (`misfit`), are a machine on which placers search many times in
no time, from the profile of that run. Times of stages have the noise that they had in the run (`noise`), ratios of
placements one of 6 %, and measurements of the race one of 3 %; all are standard deviations of logarithms. `asked`:
latency of the fastest of the first placements asked for, repeated ones included, over that of the fastest that any
search of the model asked for; geometric mean over seeds and, in brackets, the worst; a dash where fewer were to be
measured. `answer`: of what the race chooses, or of the best single device
where that is faster. `last`: median of the last placements asked for, in one batch. `best / control`, `last / control`:
latency of the fastest placement asked for, and of the last ones, over those of the control with the same seed, which is
the same policy without learning; geometric mean and Student's 95 % interval. `own ms`: what the placer computes for a
placement.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.report import Row
from benchmarks.searches.controls import ratio_text
from benchmarks.searches.fitted_machine import COMPILED, FittedMachine, FittedRequests, fitted_machine
from benchmarks.searches.simulated import TimedPlacer
from benchmarks.searches.tables import NONE
from benchmarks.sessions import own_cache, searched
from ovplace.config.schema import ComparisonConfig, RunConfig, SearchConfig
from ovplace.core.measurement import Trial
from ovplace.core.one_thread import one_thread
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.search.comparison.race import Field, race
from ovplace.search.loop import Budget, Loop
from ovplace.seeds import generator
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.session.problem import compute_features
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder
from ovplace.testing.sessions import direct, session


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes, model files, or folders of finished runs, which are not searched again.
        placers: each a name, or the path of a module, and its settings, as in `min_cut draws=5`; `measured=60` is for
            so many placements only, and `control=yes` for the control of those before it, back to the control before.
        coarsener: forms the groups.
        time_s: limit of the one real search of each model.
        budget: placements that it measures, at most.
        measured: placements that each search measures.
        asked: numbers of placements after which searches are judged.
        batch: placements asked for at a time.
        seeds: searches by each placer.
    """

    models: tuple[str, ...] = ("demo", "siren", "hyperbolic")
    placers: tuple[str, ...] = ("min_cut", "min_cut draws=2", "local_search", "random")
    coarsener: str = "chains"
    time_s: float = 180.0
    budget: int = 1000
    measured: int = 160
    asked: tuple[int, ...] = (10, 20, 40, 80, 160)
    batch: int = 1
    seeds: int = 15


SHORT = Options(
    models=("hyperbolic",),
    placers=("min_cut", "random", "random independent=1 control=yes"),
    time_s=30.0,
    budget=1,
    measured=5,
    asked=(5,),
    seeds=1,
)


@dataclass(frozen=True)
class _Search:
    """What a search found, in latencies without noise.

    Attributes:
        asked_ms: of each placement, in order.
        last_ms: median of the last placements asked for, in one batch.
        answer_ms: of the answer.
        own_ms: what the placer itself took for each of them, ms.
    """

    asked_ms: FloatArray
    last_ms: float
    answer_ms: float
    own_ms: float


@dataclass(frozen=True)
class _Placer:
    """A placer of the options.

    Attributes:
        text: it with its settings.
        config: what builds it.
        measured: placements that each search measures.
        is_control: whether it is the control of those before it.
    """

    text: str
    config: RunConfig
    measured: int
    is_control: bool

    @classmethod
    def of(cls, text: str, options: Options) -> _Placer:
        """Read a placer as it is given."""
        name, *settings = text.split()
        given = dict(setting.split("=", 1) for setting in settings)
        measured, is_control = int(given.pop("measured", options.measured)), "control" in given
        given.pop("control", None)
        shown = " ".join([name, *(f"{key}={value}" for key, value in given.items())])
        return cls(shown, RunConfig(SearchConfig(placer=name), placer=given), measured, is_control)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and placer."""
    placers = [_Placer.of(text, options) for text in options.placers]
    for model in options.models:
        machine = _machine(model, options)
        with one_thread():
            found = [[_searched(machine, placer, seed, options) for seed in range(options.seeds)] for placer in placers]
        best_ms = min(float(search.asked_ms.min()) for searches in found for search in searches)
        case: Row = {"model": Path(model).name, "groups": machine.problem.n_groups}
        spread: Row = {"noise": machine.noise, "misfit": machine.misfit}
        for i, (placer, searches) in enumerate(zip(placers, found, strict=True)):
            control = found[at] if (at := _control_of(i, placers)) else ()
            compared = _over_control(searches, control) if any(of.is_control for of in placers) else {}
            yield {**case, **spread, "placer": placer.text, **_row(searches, best_ms, placer, options), **compared}


def _control_of(i: int, placers: Sequence[_Placer]) -> int | None:
    """Return the number of a placer's control; None for one without, such as a control."""
    after = range(i + 1, len(placers))
    return None if placers[i].is_control else next((at for at in after if placers[at].is_control), None)


def _machine(model: str, options: Options) -> FittedMachine:
    if RunFolder(Path(model)).result.exists():
        return fitted_machine(Path(model))
    with own_cache() as folder:
        searched(model, folder / "run", options.time_s, options.budget, stages=True, coarsener=options.coarsener)
        return fitted_machine(folder / "run")


def _row(searches: Sequence[_Search], best_ms: float, placer: _Placer, options: Options) -> Row:
    def asked(n: int) -> str:
        first = np.array([search.asked_ms[:n].min() for search in searches])
        return _over(first / best_ms) if n <= placer.measured else NONE

    return {
        **{f"asked {n}": asked(n) for n in options.asked},
        "answer": _over(np.array([search.answer_ms for search in searches]) / best_ms),
        "last": _over(np.array([search.last_ms for search in searches]) / best_ms),
        "own ms": float(np.mean([search.own_ms for search in searches])),
    }


def _over(ratios: FloatArray) -> str:
    return f"{np.exp(np.log(ratios).mean()):.3f} [{ratios.max():.3f}]"


def _over_control(searches: Sequence[_Search], control: Sequence[_Search]) -> Row:
    if not control:
        return {"best / control": NONE, "last / control": NONE}
    both = list(zip(searches, control, strict=True))
    return {
        "best / control": ratio_text([(float(a.asked_ms.min()), float(b.asked_ms.min())) for a, b in both]),
        "last / control": ratio_text([(a.last_ms, b.last_ms) for a, b in both]),
    }


def _searched(machine: FittedMachine, placer: _Placer, seed: int, options: Options) -> _Search:
    features = compute_features(machine.problem.graph, placer.config.plugins.features)
    of, rng = replace(machine.problem, features=features, seed=seed), generator(seed, "benchmark", "replay")
    timed, budget = TimedPlacer(placer.config.plugins.placer.build(of)), Budget(placer.measured, options.batch)
    with tempfile.TemporaryDirectory() as folder:
        measurer = Measurer(replace(session(Path(folder), direct()), problem=of), RunStore(Path(":memory:")))
        requests, origin = FittedRequests(machine, rng), placer.config.search.placer
        trials = Loop(timed, measurer, requests, budget, origin, silent).run()
        measurer.store.close()
    asked_ms = np.array([machine.latency_ms(trial.placement) for trial in trials])
    last_ms = float(np.median(asked_ms[-options.batch :]))
    return _Search(asked_ms, last_ms, _answer_ms(machine, trials, seed, rng), timed.seconds / len(trials) * 1e3)


def _answer_ms(machine: FittedMachine, trials: Sequence[Trial], seed: int, rng: np.random.Generator) -> float:
    """Return the latency of what the race chooses, or of the best single device where that is faster, ms."""
    problem = machine.problem
    distinct = {trial.placement.hash: trial for trial in trials}
    raced = sorted(distinct.values(), key=lambda trial: trial.ratio)
    true_ms = np.array([machine.latency_ms(trial.placement) for trial in raced])
    device_of = np.stack([problem.lower(trial.placement) for trial in raced])
    field = Field(np.array([trial.ratio for trial in raced]), problem.costs, device_of, seed, to_beat=1.0)

    def heat(which: IntArray, _: int) -> FloatArray:
        return np.asarray(true_ms[which] * np.exp(COMPILED * rng.standard_normal(len(which))))

    alone_ms = min(machine.latency_ms(problem.lift(problem.uniform(d))) for d in range(len(problem.devices)))
    usual = ComparisonConfig()
    order = [standing.order for standing in race(field, heat, usual.finalists, usual.race)][-1]
    return min(alone_ms, float(true_ms[order[0]]) if len(order) else alone_ms)
