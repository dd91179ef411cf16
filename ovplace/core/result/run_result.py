"""The result of a run, as `optimize` returns it and as `result.json` holds it.

Schema 1 of `result.json`. Latencies are in ms, times in s, sizes in bytes; a ratio is a latency over another one's,
and `ci95`, `ci98` or `ci99` is `[low, high]` of its interval of that level in percent.

| key | type | meaning |
| --- | --- | --- |
| `schema` | int | version of this format |
| `model` | `ModelSummary` | the prepared model |
| `devices` | list of `DeviceSummary` | the devices to choose from |
| `note` | str | remark on the choice of devices |
| `baselines` | list of `BaselineSummary` | the measured baselines: the reference, the other single devices, the rest |
| `best` | `BestPlacement` | the answer: a placement found by the search, or the best baseline |
| `found` | `BestPlacement` | the search's best placement, whether it won or lost; left out where nothing was compared |
| `verdict` | `Verdict` | whether the search's best placement is faster than the best baseline |
| `accuracy` | `Accuracy` | the answer's output errors |
| `search` | `SearchSummary` | what was measured and how long it took |
| `environment` | `Environment` | versions, hardware, seed and command |

The keys of each part are its attributes, with three exceptions: a latency is `{"median", "ci95"}`, a ratio of the final
comparison `{"ratio", "ci98"}`, and an infinite `max_rel_error` is the text `"inf"`. The verdict has `ci99` where the
answer of an earlier call was compared, too. Earlier versions wrote `ci95` for all, and did not write `found`,
`final_latency_ms`, `final_ratio`, `finished_under`, `null_device` and `max_rel_error` of a placement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ovplace.core.certificate import Certificate
from ovplace.core.field_types import check_field_types
from ovplace.core.measurement import OutputError
from ovplace.core.result.parts import (
    Accuracy,
    BaselineSummary,
    BestPlacement,
    DeviceSummary,
    Environment,
    Limits,
    MachineSummary,
    ModelSummary,
    OutsideFraction,
    SearchSummary,
    TimeSpent,
)
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict, ratio_from_json, ratio_to_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SCHEMA = 1

_LATENCIES = ("latency_ms", "final_latency_ms")

Part = TypeVar("Part", bound="DataclassInstance")


@dataclass(frozen=True)
class RunResult:
    """The result of a finished run.

    Attributes:
        model: the prepared model.
        devices: the devices to choose from.
        note: remark on the choice of devices; empty where there is none.
        baselines: the measured baselines, single devices first. The first of them is the reference of ratios before and
            during the search: the fastest, unless the run began with another one.
        best: the answer.
        found: the search's best placement, which is the answer where it won; None where it was in no final comparison.
        verdict: whether the best placement found is faster than the best baseline.
        accuracy: the answer's output errors.
        search: what was measured and how long it took.
        environment: versions, hardware, seed and command.
        folder: the run folder, which `ovplace.load` takes; not part of the JSON and not compared.

    Example:
        >>> from ovplace.testing.results import run_result
        >>> result = run_result()  # as `ovplace.optimize` returns it
        >>> result.is_faster, result.verdict.against, result.verdict.ratio
        (True, 'CPU', Interval(value=0.47, low=0.46, high=0.5, level=0.98))
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
    found: BestPlacement | None = None
    folder: Path = field(default=Path(), compare=False)

    def __hash__(self) -> int:
        """Return a hash of what tells runs apart: tables in other fields have none."""
        return hash((self.model.hash, self.best.hash, self.verdict.ratio))

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
            "baselines": [_with_latencies(baseline) for baseline in self.baselines],
            "best": _with_latencies(self.best),
            **({"found": _with_latencies(self.found)} if self.found else {}),
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
            found = cls(
                model=_part(ModelSummary, data["model"]),
                devices=tuple(_part(DeviceSummary, device) for device in data["devices"]),
                note=data["note"],
                baselines=tuple(_part(BaselineSummary, baseline) for baseline in data["baselines"]),
                best=_part(BestPlacement, data["best"]),
                verdict=Verdict.from_json(data["verdict"]),
                accuracy=Accuracy(accuracy["reference"], tuple(_part(OutputError, o) for o in accuracy["outputs"])),
                search=_search_from_json(data["search"]),
                environment=_part(Environment, data["environment"]),
                found=_part(BestPlacement, data["found"]) if "found" in data else None,
                folder=folder,
            )
            check_field_types(found)
            _check_against(found)
        except KeyError as error:
            raise ValueError(f"it has no field {error}") from error
        except (TypeError, AttributeError) as error:
            raise ValueError(f"a field has another form: {error}") from error
        return found


def latency_to_json(latency: Interval) -> dict[str, Any]:
    """Return a median latency with its 95% interval as plain data."""
    return {"median": latency.value, "ci95": [latency.low, latency.high]}


def _check_against(result: RunResult) -> None:
    """Check that the verdict is against baselines of the result.

    Raises:
        ValueError: it is not.
    """
    names = [baseline.name for baseline in result.baselines]
    for against in (result.verdict.against, *result.verdict.defaults):
        if against not in names:
            raise ValueError(f"its verdict is against {against!r:.80}, its baselines are {names!r:.200}")


def _part(cls: type[Part], data: Mapping[str, Any]) -> Part:
    """Build a part whose keys are its fields; lists become tuples, a latency an interval.

    A field with a default may be missing: earlier versions did not write it.
    """
    required = [f.name for f in fields(cls) if f.default is MISSING and f.default_factory is MISSING]
    values = {f.name: data[f.name] for f in fields(cls) if f.name in data or f.name in required}
    for name in _LATENCIES:
        if found := values.get(name):
            values[name] = Interval(found["median"], *found["ci95"])
    if values.get("max_rel_error") == "inf":
        values["max_rel_error"] = inf
    if found := values.get("final_ratio"):
        values["final_ratio"] = ratio_from_json(found)
    return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _with_latencies(part: BaselineSummary | BestPlacement) -> dict[str, Any]:
    data = asdict(part) | {"submodels": list(part.submodels)}
    for name in _LATENCIES:
        if found := getattr(part, name, None):
            data[name] = latency_to_json(found)
    if part.max_rel_error == inf:  # JSON has no infinity, and null says that nothing was checked
        data["max_rel_error"] = "inf"
    if isinstance(part, BaselineSummary):
        data["final_ratio"] = ratio_to_json(part.final_ratio)
        optional: tuple[str, ...] = ("final_latency_ms", "final_ratio")
    else:
        optional = ("max_rel_error",)
    # Left out where there is none, as in files of earlier versions.
    return {name: value for name, value in data.items() if value is not None or name not in optional}


def _search_to_json(search: SearchSummary) -> dict[str, Any]:
    """Return the part `search`; what a run does not have is left out."""
    optional = {
        "placer_info": dict(search.placer_info) or None,
        "costs": search.costs,
        "certificate": search.certificate.to_json() if search.certificate else None,
        "stages_over_hetero": dict(search.stages_over_hetero) or None,
        "finished_under": [asdict(limits) for limits in search.finished_under] or None,
        "machines": [asdict(machine) for machine in search.machines] or None,
    }
    seconds = {name: value for name, value in asdict(search.seconds).items() if value is not None}
    required = {name: value for name, value in asdict(search).items() if name not in optional}
    return required | {"seconds": seconds} | {name: value for name, value in optional.items() if value is not None}


def _search_from_json(data: Mapping[str, Any]) -> SearchSummary:
    certificate = data.get("certificate")
    built = {
        "seconds": _part(TimeSpent, data["seconds"]),
        "outside_fraction": _part(OutsideFraction, data["outside_fraction"]),
        "certificate": Certificate.from_json(certificate) if certificate else None,
        "finished_under": tuple(_part(Limits, limits) for limits in data.get("finished_under", [])),
        "machines": tuple(_part(MachineSummary, machine) for machine in data.get("machines", [])),
    }
    return _part(SearchSummary, {**data, **built})
