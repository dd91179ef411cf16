"""Answers of several runs of a model, timed side by side.

Latencies of runs that were made one after the other differ with the state of the machine. Here the answers and the CPU
alone take turns in fresh processes. `over CPU` and `over the first` are latency ratios with 95 % intervals over the
processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Row
from benchmarks.script import UnavailableError
from benchmarks.sessions import opened_session, own_cache, searched
from benchmarks.turns import in_turns, ratio_of
from ovplace.core.placement import Placement
from ovplace.devices import emulated_gpu
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        model: recipe, or model file.
        runs: folders of finished runs of it on the CPU and the emulated GPU; a search of ten seconds without any.
        rounds: processes.
    """

    model: str = "siren"
    runs: tuple[str, ...] = ()
    rounds: int = 8


SHORT = Options(model="hyperbolic", rounds=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each run."""
    if reason := emulated_gpu.why_unavailable():
        raise UnavailableError(reason)
    with opened_session(options.model, "cpu+emulated-gpu") as measurer, own_cache() as folder:
        if not options.runs:
            searched(options.model, folder / "run", 10.0, None, stages=True)
        runs = [Path(run) for run in options.runs] or [folder / "run"]
        graph = measurer.session.graph
        answers = [Placement.from_names(graph, RunFolder(run).read_placement()) for run in runs]
        measured = in_turns(measurer.session, answers, options.rounds)
    for number, run in enumerate(runs):
        name = "/".join(run.parts[-5:]) if options.runs else "ten seconds"
        yield {
            "run": name,
            "over CPU": ratio_of(measured, number, len(runs)),
            "over the first": ratio_of(measured, number, 0),
        }
