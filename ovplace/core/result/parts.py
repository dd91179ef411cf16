"""The parts of a run's result; `RunResult` puts them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ovplace.core.certificate import Certificate
from ovplace.core.measurement import OutputError
from ovplace.core.statistics import Interval
from ovplace.core.text.plural import plural


@dataclass(frozen=True)
class ModelSummary:
    """The prepared model of a run.

    Attributes:
        path: absolute path of the model file that the user named.
        hash: content hash of the prepared model.
        ops: number of its operations.
        groups: number of groups, each of which is placed as a whole.
    """

    path: str
    hash: str
    ops: int
    groups: int


@dataclass(frozen=True)
class DeviceSummary:
    """A device of a run.

    Attributes:
        name: its name in placements, such as `GPU` or `CPU_BF16`.
        plugin: the OpenVINO plugin behind it.
        base: the OpenVINO device behind it, with its id.
        full_name: the hardware's name.
        properties: OpenVINO properties set on it, key to value as text.
        default_precision: inference precision that the plugin chooses by itself; empty where unknown.
        emulated: whether it is the GPU plugin on a CPU's OpenCL runtime.
    """

    name: str
    plugin: str
    base: str
    full_name: str
    properties: Mapping[str, str]
    default_precision: str
    emulated: bool


@dataclass(frozen=True)
class BaselineSummary:
    """A measured baseline: a single device, HETERO's automatic mode, AUTO, or a device at its default precision.

    Attributes:
        name: its name in tables.
        latency_ms: median latency in ms with its interval, measured before the search; None where it failed.
        ratio: latency over the reference's, which is the first baseline, measured in turns; None where it failed.
        competes: whether it may be the answer.
        submodels: device of each submodel, in running order.
        runs_on: the execution devices that OpenVINO names.
        max_rel_error: largest relative output error, infinite where one has another shape, or infinities or NaN
            that the reference has not; None where outputs were not checked.
        error: kind and text of its failure; None where it ran.
        final_latency_ms: typical latency in ms in the final comparison, where all took turns: the geometric mean over
            processes and blocks of block medians, so that two of them have exactly the ratio of the comparison; None
            where it was not in the comparison.
        final_ratio: latency over that of the verdict's baseline in the final comparison; None where it was not in it.
    """

    name: str
    latency_ms: Interval | None
    ratio: float | None
    competes: bool
    submodels: tuple[str, ...]
    runs_on: str
    max_rel_error: float | None
    error: str | None
    final_latency_ms: Interval | None = None
    final_ratio: Interval | None = None


@dataclass(frozen=True)
class BestPlacement:
    """The answer of a run, or the best placement of its search.

    Attributes:
        origin: the placer that found it, or the name of the baseline that it is.
        latency_ms: latency in ms with its interval: that of the final comparison (`BaselineSummary.final_latency_ms`),
            the median of before the search where nothing was compared.
        ops_per_device: number of operations on each device.
        submodels: device of each submodel, in running order.
        cut_bytes: bytes that cross between devices in one inference.
        hash: hash of the placement.
        max_rel_error: largest relative output error, infinite where one has another shape, or infinities or NaN
            that the reference has not; None where outputs were not checked.
    """

    origin: str
    latency_ms: Interval | None
    ops_per_device: Mapping[str, int]
    submodels: tuple[str, ...]
    cut_bytes: int
    hash: str
    max_rel_error: float | None = None


@dataclass(frozen=True)
class Accuracy:
    """The output errors of the answer.

    Attributes:
        reference: what the outputs were compared with; empty on a simulated machine, where nothing is computed.
        outputs: the error of each output.
    """

    reference: str
    outputs: tuple[OutputError, ...]

    @property
    def max_rel_error(self) -> float | None:
        """Largest relative error of an output; None where outputs were not checked."""
        return max((output.max_rel for output in self.outputs), default=None)


@dataclass(frozen=True)
class TimeSpent:
    """Wall time of a run in seconds.

    Attributes:
        total: the whole call.
        measuring: waiting for measurements.
        compiling: the runtime's compilations.
        inferring: inferences, untimed ones included.
        placer: the placer's `ask` and `tell`.
        profiling: finding the costs of the model's parts.
        search: the ask/tell loop as a whole.
        preparing: model, devices and the first measuring process; None in results of earlier versions.
        starting: later starts of measuring processes, with the reference's compilation and inference; None in results
            of earlier versions.
        baselines: the baselines as a whole; None in results of earlier versions.
        comparison: choosing the best placement and comparing it, as a whole; None in results of earlier versions.
    """

    total: float
    measuring: float
    compiling: float
    inferring: float
    placer: float
    profiling: float
    search: float
    preparing: float | None = None
    starting: float | None = None
    baselines: float | None = None
    comparison: float | None = None


@dataclass(frozen=True)
class OutsideFraction:
    """Fractions of the wall time in which the runtime neither compiled nor inferred.

    Attributes:
        search: fraction of the time of the ask/tell loop.
        run: fraction of the time of the whole call.
    """

    search: float
    run: float


@dataclass(frozen=True)
class Limits:
    """The limits of a call.

    Attributes:
        budget: largest number of placements measured in the search; None for no limit.
        time_s: time limit of the call in seconds; 0 for no limit.
        rounds: fresh processes of the final comparison.
        skipped: whether the search was skipped, because it could not gain. The limits then do not cover a call that
            wants a search.
    """

    budget: int | None
    time_s: float
    rounds: int
    skipped: bool = False

    def covers(self, other: Limits) -> bool:
        """Return whether a run that is finished under these limits has nothing more to do under others.

        >>> Limits(60, 0.0, 12).covers(Limits(60, 30.0, 12)), Limits(60, 30.0, 12).covers(Limits(60, 0.0, 12))
        (True, False)
        """
        longer = self.time_s and (not other.time_s or other.time_s > self.time_s)
        more = self.budget and (not other.budget or other.budget > self.budget)
        return not longer and not more and other.rounds <= self.rounds

    def __str__(self) -> str:
        """Return them in words."""
        placements = [plural(self.budget, "placement")] if self.budget else []
        return ", ".join(placements + ([f"{self.time_s:g} s"] if self.time_s else []))


@dataclass(frozen=True)
class MachineSummary:
    """The share of a machine of a fleet in the search.

    Attributes:
        name: its name.
        trials: placements that it measured.
        reference_ms: median latency in ms of the reference that was measured with them; None where none worked.
        aside: why it was set aside; empty where it was not.
    """

    name: str
    trials: int
    reference_ms: float | None
    aside: str = ""


@dataclass(frozen=True)
class SearchSummary:
    """A summary of the search.

    Attributes:
        placer: the placer.
        coarsener: the coarsener that formed the groups.
        trials: placements that the placer proposed.
        measured: trials that were measured.
        cached: trials whose measurement the run had stored already.
        failed: trials without a latency.
        seconds: the time that each part of the run took.
        outside_fraction: the fractions of time in which the runtime did not work.
        placer_info: numbers that the placer reports about itself, by name.
        costs: origin of the cost table; None where the placer needs none.
        certificate: the solver's certificate; None where the placer has none.
        stages_over_hetero: latency in stages over that by HETERO, measured in turns, by name of the placement: for the
            first ones on several devices until one agrees, for those in the first heat of the race, and its winner.
            Empty where no placement ran in stages.
        finished_under: the limits of each call that finished the run; a later call that asks for no more gets this
            result again. Empty in results of earlier versions.
        machines: the machines of the fleet, by name; empty where this machine measured.
    """

    placer: str
    coarsener: str
    trials: int
    measured: int
    cached: int
    failed: int
    seconds: TimeSpent
    outside_fraction: OutsideFraction
    placer_info: Mapping[str, float] = field(default_factory=dict)
    costs: Mapping[str, Any] | None = None
    certificate: Certificate | None = None
    stages_over_hetero: Mapping[str, float] = field(default_factory=dict)
    finished_under: tuple[Limits, ...] = ()
    machines: tuple[MachineSummary, ...] = ()


@dataclass(frozen=True)
class Environment:
    """The environment of a run, for reproducing it.

    Attributes:
        versions: versions of ovplace and of OpenVINO, by name.
        simulated: name of the simulated machine; empty where inferences were run.
        cpu: the processor's name.
        platform: the operating system.
        drivers: driver of each device that names one.
        seed: root seed.
        command: the command line; empty for a call from Python.
    """

    versions: Mapping[str, str]
    simulated: str
    cpu: str
    platform: str
    drivers: Mapping[str, str]
    seed: int
    command: str
