"""A short default search in stages against a long one of whole placements.

Each model is searched both ways with an empty cache: in stages with `short_s` for the whole call, then whole placements
with `long_s`, as many as there is time for. `short` and `long` are the placements measured in so many seconds of
search. Then both answers and the CPU alone take turns in fresh processes: `short / long` is below 1 where the short
search found the faster placement, the other two are the latencies of the answers over that of the CPU; all with 95 %
intervals over the processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.report import Row
from benchmarks.sessions import opened_session, own_cache, searched
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import ratio_interval
from ovplace.graphs.op_graph import FloatArray
from ovplace.session.session import Session
from ovplace.store.run_folder import RunFolder

SPEC = MeasureSpec(warmup=1, blocks=15, repeats=3, min_time_ms=20.0, deadline_s=120.0, hopeless_ratio=1e9)


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        short_s: limit of the call that searches in stages.
        long_s: limit of the call that measures whole placements.
        rounds: fresh processes in which both answers take turns.
    """

    models: tuple[str, ...] = ("demo", "siren", "hyperbolic")
    short_s: float = 120.0
    long_s: float = 600.0
    rounds: int = 12


SHORT = Options(models=("siren",), short_s=10.0, long_s=10.0, rounds=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model."""
    for model in options.models:
        with opened_session(model, "cpu+emulated-gpu") as measurer:
            session = measurer.session
            with own_cache() as folder:
                short = searched(model, folder / "short", options.short_s, None, stages=True)
                answers = [_answer(session, short)]
            with own_cache() as folder:
                long = searched(model, folder / "long", options.long_s, None, stages=False)
                answers.append(_answer(session, long))
            measured = _in_turns(session, answers, options.rounds)
        ways = {"short": _effort(short), "long": _effort(long)}
        pairs = {"short / long": (0, 1), "short / CPU": (0, 2), "long / CPU": (1, 2)}
        yield {"model": model, **ways, **{name: _ratio(measured, *pair) for name, pair in pairs.items()}}


def _answer(session: Session, result: RunResult) -> Placement:
    return Placement.from_names(session.graph, RunFolder(result.folder).read_placement())


def _effort(result: RunResult) -> str:
    return f"{result.search.measured} in {result.search.seconds.search:.0f} s"


def _in_turns(session: Session, answers: Sequence[Placement], rounds: int) -> list[list[Measurement]]:
    """Return the measurements of the answers and of the CPU alone, in each of so many fresh processes."""
    names = session.problem.device_names
    placements = [*answers, Placement.uniform(len(session.graph), "CPU", names)]
    candidates = [Candidate(f"answer {number}", placement) for number, placement in enumerate(placements)]
    measured = []
    for _ in range(rounds):
        session.pool.renew()
        measured.append(session.pool.measure(candidates, SPEC))
    return measured


def _ratio(measured: Sequence[Sequence[Measurement]], numerator: int, denominator: int) -> str:
    found = ratio_interval(_blocks(measured, numerator), _blocks(measured, denominator))
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _blocks(measured: Sequence[Sequence[Measurement]], which: int) -> list[FloatArray]:
    return [of[which].block_medians_ms for of in measured]
