"""The result of a run, as `optimize` returns it and as `result.json` holds it.

Schema 1 of `result.json`. Latencies are in ms, times in s, sizes in bytes; a ratio is a latency over another one's,
and `ci95` is `[low, high]` of its 95 % interval.

| key | type | meaning |
| --- | --- | --- |
| `schema` | int | version of this format |
| `model` | `ModelSummary` | the prepared model |
| `devices` | list of `DeviceSummary` | the devices to choose from |
| `note` | str | remark on the choice of devices |
| `baselines` | list of `BaselineSummary` | the simple choices, the fastest single device first |
| `best` | `BestPlacement` | the answer: a placement found by the search, or the best baseline |
| `verdict` | `Verdict` | whether the search's best placement is faster than the best baseline |
| `accuracy` | `Accuracy` | the answer's output errors |
| `search` | `SearchSummary` | what was measured and how long it took |
| `environment` | `Environment` | versions, hardware, seed and command |

The keys of each part are its attributes, but for two: a latency is `{"median", "ci95"}`, a ratio `{"ratio", "ci95"}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ovplace.core.certificate import Certificate
from ovplace.core.measurement import OutputError
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict

SCHEMA = 1

Part = TypeVar("Part")


@dataclass(frozen=True)
class ModelSummary:
    """The prepared model of a run.

    Attributes:
        path: the model file that the user named.
        hash: content hash of the prepared model.
        ops: number of its operations.
        groups: number of groups that were placed as one each.
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
        default_precision: inference precision of the plugin's own choice; empty where unknown.
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
        latency_ms: median latency in ms with its interval; None where it failed.
        ratio: latency over the best single device's, measured in turns; None where it failed.
        competes: whether it may be the answer.
        submodels: device of each submodel, in running order.
        runs_on: the execution devices that OpenVINO names.
        max_rel_error: largest relative output error; None where outputs were not checked.
        error: kind and text of its failure; None where it ran.
    """

    name: str
    latency_ms: Interval | None
    ratio: float | None
    competes: bool
    submodels: tuple[str, ...]
    runs_on: str
    max_rel_error: float | None
    error: str | None


@dataclass(frozen=True)
class BestPlacement:
    """The answer of a run.

    Attributes:
        origin: the placer that found it, or the name of the baseline that it is.
        latency_ms: median latency in ms with its interval.
        ops_per_device: number of operations on each device.
        submodels: device of each submodel, in running order.
        cut_bytes: bytes that cross between devices in one inference.
        hash: hash of the placement.
    """

    origin: str
    latency_ms: Interval | None
    ops_per_device: Mapping[str, int]
    submodels: tuple[str, ...]
    cut_bytes: int
    hash: str


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
    """

    total: float
    measuring: float
    compiling: float
    inferring: float
    placer: float
    profiling: float
    search: float


@dataclass(frozen=True)
class OutsideFraction:
    """Fractions of the wall time in which the runtime neither compiled nor inferred.

    Attributes:
        search: of the ask/tell loop.
        run: of the whole call.
    """

    search: float
    run: float


@dataclass(frozen=True)
class SearchSummary:
    """A summary of the search.

    Attributes:
        placer: the placer.
        coarsener: the coarsener that formed the groups.
        trials: placements that the placer asked for.
        measured: trials that were measured.
        cached: trials that the run's store answered.
        failed: trials without a latency.
        seconds: where the time went.
        outside_fraction: how much of it was not the runtime's.
        placer_info: numbers that the placer reports of itself, by name.
        costs: origin of the cost table; None where the placer needs none.
        certificate: the solver's certificate; None where the placer has none.
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


@dataclass(frozen=True)
class RunResult:
    """The result of a finished run.

    Attributes:
        model: the prepared model.
        devices: the devices to choose from.
        note: remark on the choice of devices; empty where there is none.
        baselines: the measured baselines, the fastest single device first.
        best: the answer.
        verdict: whether the best placement found is faster than the best baseline.
        accuracy: the answer's output errors.
        search: what was measured and how long it took.
        environment: versions, hardware, seed and command.
        folder: the run folder, which `ovplace.load` takes; not part of the JSON and not compared.

    Example:
        >>> from ovplace.testing.results import run_result
        >>> result = run_result()  # as `ovplace.optimize` returns it
        >>> result.is_faster, result.verdict.against, result.verdict.ratio
        (True, 'CPU', Interval(value=0.47, low=0.46, high=0.5))
        >>> result.best.ops_per_device
        {'GPU': 3, 'CPU': 7}
        >>> RunResult.from_json(result.to_json()) == result
        True
    """

    model: ModelSummary
    devices: tuple[DeviceSummary, ...]
    note: str
    baselines: tuple[BaselineSummary, ...]
    best: BestPlacement
    verdict: Verdict
    accuracy: Accuracy
    search: SearchSummary
    environment: Environment
    folder: Path = field(default=Path(), compare=False)

    @property
    def is_faster(self) -> bool:
        """True if a placement was found that is faster than every baseline."""
        return self.verdict.status == Status.FASTER

    @property
    def device_names(self) -> tuple[str, ...]:
        """Names of the devices to choose from, `[D]`."""
        return tuple(device.name for device in self.devices)

    def baseline(self, name: str) -> BaselineSummary:
        """Return a baseline by its name.

        Raises:
            KeyError: there is none of that name.
        """
        found = {baseline.name: baseline for baseline in self.baselines}
        return found[name]

    def to_json(self) -> dict[str, Any]:
        """Return what `result.json` holds: plain data, the inverse of `from_json`."""
        return {
            "schema": SCHEMA,
            "model": asdict(self.model),
            "devices": [asdict(device) for device in self.devices],
            "note": self.note,
            "baselines": [_with_latency(baseline) for baseline in self.baselines],
            "best": _with_latency(self.best),
            "verdict": self.verdict.to_json(),
            "accuracy": {"reference": self.accuracy.reference, "outputs": [asdict(o) for o in self.accuracy.outputs]},
            "search": _search_to_json(self.search),
            "environment": asdict(self.environment),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], folder: Path = Path()) -> RunResult:
        """Build a result from what `to_json` returned.

        Args:
            data: the content of a `result.json`.
            folder: the run folder that it lies in.

        Raises:
            ValueError: the data are of another schema, or incomplete; the text says which.
        """
        try:
            if data["schema"] != SCHEMA:
                raise ValueError(f"it has schema {data['schema']}, this ovplace reads {SCHEMA}")
            accuracy = data["accuracy"]
            return cls(
                model=_part(ModelSummary, data["model"]),
                devices=tuple(_part(DeviceSummary, device) for device in data["devices"]),
                note=data["note"],
                baselines=tuple(_part(BaselineSummary, baseline) for baseline in data["baselines"]),
                best=_part(BestPlacement, data["best"]),
                verdict=Verdict.from_json(data["verdict"]),
                accuracy=Accuracy(accuracy["reference"], tuple(_part(OutputError, o) for o in accuracy["outputs"])),
                search=_search_from_json(data["search"]),
                environment=_part(Environment, data["environment"]),
                folder=folder,
            )
        except KeyError as error:
            raise ValueError(f"it has no field {error}") from error
        except (TypeError, AttributeError) as error:
            raise ValueError(f"a field has another form: {error}") from error


def _part(cls: type[Part], data: Mapping[str, Any]) -> Part:
    """Build a part whose keys are its fields; lists become tuples, a latency an interval."""
    values = {f.name: data[f.name] for f in fields(cls)}  # type: ignore[arg-type]
    if found := values.get("latency_ms"):
        values["latency_ms"] = Interval(found["median"], *found["ci95"])
    return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _with_latency(part: BaselineSummary | BestPlacement) -> dict[str, Any]:
    found = part.latency_ms
    latency = {"median": found.value, "ci95": [found.low, found.high]} if found else None
    return asdict(part) | {"latency_ms": latency, "submodels": list(part.submodels)}


def _search_to_json(search: SearchSummary) -> dict[str, Any]:
    """Return the part `search`; what a run does not have is left out."""
    optional = {
        "placer_info": dict(search.placer_info) or None,
        "costs": search.costs,
        "certificate": search.certificate.to_json() if search.certificate else None,
    }
    required = {name: value for name, value in asdict(search).items() if name not in optional}
    return required | {name: value for name, value in optional.items() if value is not None}


def _search_from_json(data: Mapping[str, Any]) -> SearchSummary:
    certificate = data.get("certificate")
    built = {
        "seconds": _part(TimeSpent, data["seconds"]),
        "outside_fraction": _part(OutsideFraction, data["outside_fraction"]),
        "placer_info": data.get("placer_info", {}),
        "costs": data.get("costs"),
        "certificate": Certificate.from_json(certificate) if certificate else None,
    }
    return _part(SearchSummary, {**data, **built})
