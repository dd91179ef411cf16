"""Devices that fail on operations they claim to support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.searches.place import Place
from ovplace.backends.simulate import Backend
from ovplace.config.schema import RunConfig
from ovplace.core.measurement import Candidate, ErrorKind, Job, Measurement, MeasureSpec
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_certified
from ovplace.graphs.op_graph import BoolArray
from ovplace.ir.read import own_name
from ovplace.seeds import generator
from ovplace.session.problem import make_problem


@dataclass(frozen=True, eq=False)
class Failures:
    """Which operation fails on which device.

    Attributes:
        fails: `[N, D]`.
    """

    fails: BoolArray

    def optimum_ms(self, place: Place) -> float:
        """Return the latency of the best placement of legal groups in which nothing fails."""
        forbidden = np.stack([self.fails[members].any(axis=0) for members in place.legal.members])
        allowed = replace(place.table, group_ms=np.where(forbidden, np.inf, place.table.group_ms))
        return best_certified(allowed, 60).value_ms

    def checked(self, candidate: Candidate, measured: Measurement) -> Measurement:
        """Return the answer to a candidate: that of the machine, or a failure."""
        if not candidate.name.startswith("trial") or candidate.placement is None:
            return measured
        device_of = candidate.placement.device_of
        if self.fails[np.arange(len(device_of)), device_of].any():
            return Measurement.failed(ErrorKind.COMPILE, "fails by order of the benchmark")
        return measured


def drawn_failures(place: Place, config: RunConfig, count: int) -> Failures:
    """Draw groups that the best placement has on another device than the fastest single one; they fail there.

    Args:
        place: the model and the machine.
        config: of the run: its groups are drawn from, with its seed.
        count: groups that fail.
    """
    devices = place.machine.as_devices()
    partition = make_problem(config, place.graph, devices, place.machine.supported(place.graph)).partition
    table = place.machine.table(place.graph, partition, own_name(place.path))
    best = best_certified(table, 20).device_of
    alone = latency_ms(table, table.uniform_choices())
    elsewhere = np.flatnonzero(best != int(np.argmin(alone)))
    rng = generator(config.search.seed, "benchmark", "failing")
    chosen = rng.choice(elsewhere, min(count, len(elsewhere)), replace=False)
    fails = np.zeros((len(place.graph), table.n_devices), dtype=bool)
    for group in chosen:
        fails[partition.members[group], best[group]] = True
    return Failures(fails)


class FailingBackend(Backend):
    """A simulated machine on which some operations fail on some devices."""

    def __init__(self, job: Job, failures: Failures) -> None:
        """Set the machine up, with its failures."""
        super().__init__(job)
        self._failures = failures

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Answer as the machine does, where nothing fails."""
        answers = zip(candidates, super().measure(candidates, spec), strict=True)
        return [self._failures.checked(candidate, measured) for candidate, measured in answers]
