"""Runs on synthetic graphs with the fake backend: no OpenVINO, no model file."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovplace.config.schema import ComparisonConfig, RunConfig, SearchConfig
from ovplace.core.measurement import Candidate, Job, Measurement, MeasureSpec, Trial
from ovplace.devices.select import Selection
from ovplace.graphs.op_graph import OpGraph
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.pool import Pool
from ovplace.measuring.process_pool import ProcessPool
from ovplace.search.comparison.final_comparison import FinalComparison, decide
from ovplace.search.explore import make_loop
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.events import Listener, Progress, silent
from ovplace.session.measurer import Measurer
from ovplace.session.session import Session
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder
from ovplace.testing import fake_backend
from ovplace.testing.graphs import devices, layered, problem

OPS = 12
QUICK = MeasureSpec(warmup=0, blocks=1, repeats=1, min_time_ms=0.0, deadline_s=20.0)
SHORT_COMPARISON = ComparisonConfig(race=6, rounds=2, blocks=3, repeats=1, min_time_ms=0.0)

Measure = Callable[[Sequence[Candidate], MeasureSpec], list[Measurement]]


class DirectPool:
    """Stands for a pool: measures in this process, by a function."""

    def __init__(self, measure: Measure, fresh: Callable[[], None] = lambda: None) -> None:
        """Keep the two functions.

        Args:
            measure: answers requests.
            fresh: is called where a pool would start a new process.
        """
        self.measure, self.renew = measure, fresh

    def close(self) -> None:
        """There is nothing to end."""


def job(**options: Any) -> Job:
    """Return the job of the fake backend on two devices."""
    config = fake_backend.Config(**{"ops": OPS, **options})
    return Job("", devices(2), options=dataclasses.asdict(config))


def pool(**options: Any) -> ProcessPool:
    """Return a pool whose child has the fake backend."""
    return ProcessPool(WorkerSpec(fake_backend.NAME, job(**options)))


def direct(**options: Any) -> DirectPool:
    """Return the fake backend in this process."""
    return DirectPool(fake_backend.Backend(job(**options)).measure)


def session(
    folder: Path,
    using: Pool | DirectPool,
    graph: OpGraph | None = None,
    spec: MeasureSpec = QUICK,
    comparison: ComparisonConfig = SHORT_COMPARISON,
    **search: Any,
) -> Session:
    """Return a session on two devices.

    Args:
        folder: the run folder.
        using: what measures.
        graph: the model's graph; a synthetic one of `OPS` operations by default.
        spec: how the search measures.
        comparison: how the final comparison measures.
        **search: fields of `SearchConfig`.
    """
    of = problem(graph or layered(OPS, seed=3), seed=search.get("seed", 0))
    asked: dict[str, Any] = {"backend": fake_backend.NAME, "early_exit": False, **search}
    return Session(
        config=RunConfig(search=SearchConfig(**asked), measure=spec, comparison=comparison),
        folder=RunFolder(folder),
        graph=of.graph,
        selection=Selection(of.devices),
        defaults=(),
        nulls={},
        problem=of,
        pool=using,  # type: ignore[arg-type]
        facts={"openvino": "fake"},
    )


@dataclass(frozen=True)
class Played:
    """What a run has found out."""

    baselines: list[Baseline]
    trials: list[Trial]
    comparison: FinalComparison

    @property
    def hashes(self) -> list[str]:
        """What was asked, in order."""
        return [trial.placement.hash for trial in self.trials]


def run_session(of: Session, store: RunStore, listener: Listener = silent) -> Played:
    """Measure the baselines, search and decide, as a run does between its set-up and its files.

    Args:
        of: the session.
        store: keeps the measurements.
        listener: is called with each step.
    """
    measurer = Measurer(of, store)
    baselines = measure_baselines(measurer, of.config.measure, listener)
    trials = make_loop(measurer, baselines[0], listener).run()
    return Played(baselines, trials, decide(measurer, baselines, trials, listener))


def main(folder: str, log: str, placer: str, batch: str) -> None:
    """Run or continue a run of 14 trials; say each step, and go on when there is a line for it; may be killed.

    Args:
        folder: the run folder.
        log: file to which the backend adds a line for each candidate.
        placer: name of the placer.
        batch: number of placements asked for at a time.
    """

    def listener(progress: Progress) -> None:
        print(progress.phase, progress.done, flush=True)  # noqa: T201
        sys.stdin.readline()

    store = RunFolder(Path(folder)).open_store()
    played = run_session(
        session(Path(folder), direct(log=log, delay_s=0.005), placer=placer, batch=int(batch), budget=14),
        store,
        listener,
    )
    print("verdict", played.comparison.verdict.status, flush=True)  # noqa: T201
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
