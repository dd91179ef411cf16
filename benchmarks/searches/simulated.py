"""A run's search in this process: its loop and its store, with the simulated machine instead of a measuring process."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.searches.place import Place
from ovplace.backends.simulate import Backend
from ovplace.config.schema import RunConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, Job, Measurement, MeasureSpec, Trial
from ovplace.core.placement import Placement
from ovplace.devices.select import Selection
from ovplace.plugins.protocols import Placer, State
from ovplace.search.explore import make_loop
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer, latency_ratio
from ovplace.session.problem import make_problem
from ovplace.session.session import Session
from ovplace.store.run_db import StoredMeasurement
from ovplace.store.run_folder import RunFolder


class InProcessPool:
    """Stands for the measuring process: a backend in this process."""

    def __init__(self, backend: Backend) -> None:
        """Measure with `backend`."""
        self.measured = 0  # candidates, so far
        self._backend = backend

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Return the backend's answers."""
        self.measured += len(candidates)
        return self._backend.measure(candidates, spec)

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return the answer of a backend method."""
        return getattr(self._backend, method)(*arguments)

    def renew(self) -> None:
        """Do nothing: each request has noise of its own."""


class ReferenceFirst(Measurer):
    """Measures the reference first, also next to itself: published tables were made with that order of the noise."""

    def measure_pair(
        self, candidate: Candidate, reference: Candidate, spec: MeasureSpec, attempts: int = 1, *, check: bool = True
    ) -> StoredMeasurement:
        """Return `candidate` measured in turns with `reference`, now."""
        first, own = self.request([reference, candidate], spec)
        return StoredMeasurement(own, latency_ratio(own, first))


@dataclass
class TimedPlacer(Placer):
    """A placer that is timed.

    Attributes:
        inner: the placer.
        costs: what it was given; None where it needs none.
        seconds: own computing so far.
        counts: number of placements measured after each trial.
        asked_at_s: own seconds when each trial was asked for.
    """

    inner: Placer
    costs: CostTable | None = None
    seconds: float = 0.0
    counts: list[int] = field(default_factory=list)
    asked_at_s: list[float] = field(default_factory=list)

    @property
    def ends(self) -> bool:
        """Whether the placer ends by itself."""
        return self.inner.ends

    def ask(self, n: int) -> Sequence[Placement]:
        """Return what the placer asks for."""
        asked: Sequence[Placement] = self._timed(lambda: self.inner.ask(n))
        return asked

    def tell(self, trials: Sequence[Trial]) -> None:
        """Pass the answers on."""
        for trial in trials:
            self.counts.append((self.counts[-1] if self.counts else 0) + (not trial.cached))
            self.asked_at_s.append(self.seconds)
        self._timed(lambda: self.inner.tell(trials))

    def state(self) -> State:
        """Return nothing: a search is never continued."""
        return {}

    def restore(self, state: State) -> None:
        """Do nothing."""

    def _timed(self, act: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        value = act()
        self.seconds += time.perf_counter() - start
        return value


@dataclass(frozen=True)
class Simulated:
    """A search that is set up, on a simulated machine in this process.

    Attributes:
        place: the model and the machine.
        measurer: of the run.
        baselines: measured; the fastest single device first.
    """

    place: Place
    measurer: Measurer
    baselines: Sequence[Baseline]

    @property
    def measured(self) -> int:
        """Number of candidates measured so far, those beside others included."""
        pool: Any = self.measurer.session.pool
        return int(pool.measured)

    def search(
        self, believed: Callable[[CostTable], CostTable] = lambda costs: costs
    ) -> tuple[list[Trial], TimedPlacer]:
        """Search until the budget is spent or nothing is left to ask.

        Args:
            believed: what a placer that takes costs gets, of the true ones.

        Returns:
            The trials, and the placer with its times.
        """
        session = self.measurer.session
        placer, costs = session.config.plugins.placer, None
        if placer.needs_costs():
            costs = believed(session.pool.ask("costs", session.problem.partition))
        start = time.perf_counter()
        loop = make_loop(self.measurer, self.baselines[0], silent, costs)
        timed = TimedPlacer(loop.placer, costs, time.perf_counter() - start)
        return replace(loop, placer=timed).run(), timed


@contextmanager
def simulated(place: Place, config: RunConfig, backend_of: Callable[[Job], Backend] = Backend) -> Iterator[Simulated]:
    """Set a search up as a run does, its baselines measured.

    Args:
        place: the model and the machine.
        config: of the run.
        backend_of: makes the simulated machine.
    """
    with tempfile.TemporaryDirectory() as text:
        folder = RunFolder(Path(text))
        for suffix in (".xml", ".bin"):  # the simulation counts requests in the model's folder
            folder.prepared_model.with_suffix(suffix).symlink_to(place.path.with_suffix(suffix).resolve())
        devices = place.machine.as_devices()
        settings = config.plugins.backend.settings
        options = {"machine": place.machine_name, "noise": settings.noise, "seed": config.search.seed}
        backend = backend_of(Job(str(folder.prepared_model), devices, options=options))
        problem = make_problem(config, place.graph, devices, backend.supported())
        selection = Selection(devices, simulated=place.machine.name)
        pool: Any = InProcessPool(backend)
        facts = dict(backend.facts())
        session = Session(config, folder, place.graph, selection, (), {}, problem, pool, facts)
        with closing(folder.open_store()) as store:
            measurer = ReferenceFirst(session, store)
            yield Simulated(place, measurer, measure_baselines(measurer, config.measure, silent))
