"""Jobs, requests and answers as plain data. What comes from another machine is checked by the types that it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.errors import BackendError, DeviceError, ModelError, OvplaceError, PlacementError, UsageError
from ovplace.measuring.child import Method

Data = dict[str, Any]

_OF_PROCESS = ("start", "renew")
"""What a measuring process is told, beside the methods of its backend."""

TRAIN = "train"
"""Train a policy, which needs no backend."""

OPERATIONS = (*get_args(Method), *_OF_PROCESS, TRAIN)
"""All that a worker can be asked to do."""


@dataclass(frozen=True)
class RemoteJob:
    """The job of a backend on another machine, whose files are named by their hashes.

    Attributes:
        number: what tells it from other jobs of the fleet; a continued run has another.
        backend: name of the backend plug-in.
        devices: every device that a candidate may name.
        files: hash of each file by its name in the job's folder; the first is the model.
        seed: root seed of the inputs.
        options: the backend's settings.
    """

    number: str
    backend: str
    devices: tuple[Device, ...]
    files: Mapping[str, str]
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> Data:
        """Return plain data, the inverse of `from_dict`."""
        return {
            "number": self.number,
            "backend": self.backend,
            "devices": [device.to_dict() for device in self.devices],
            "files": dict(self.files),
            "seed": self.seed,
            "options": dict(self.options),
        }

    @classmethod
    def from_dict(cls, data: Data) -> RemoteJob:
        """Build a job from what `to_dict` returned.

        Raises:
            Exception: the data are of no job.
        """
        return cls(**{**data, "devices": tuple(Device.from_dict(device) for device in data["devices"])})


def pack_arguments(method: str, arguments: tuple[Any, ...]) -> list[Any]:
    """Return the arguments of an operation as plain data.

    Args:
        method: one of `OPERATIONS`.
        arguments: its arguments.
    """
    if method == "measure":
        candidates, spec = arguments
        return [[_packed_candidate(candidate) for candidate in candidates], asdict(spec)]
    if method == "costs":
        return [_packed_indices(arguments[0].group_of)]
    return list(arguments)


def unpack_arguments(method: str, data: list[Any]) -> tuple[Any, ...]:
    """Return the arguments of an operation, the inverse of `pack_arguments`.

    Args:
        method: one of `OPERATIONS`.
        data: plain data.

    Raises:
        Exception: the data are of no such operation.
    """
    if method not in OPERATIONS:
        raise ValueError(f"there is no operation '{method}'")
    if method == "measure":
        return tuple(map(_candidate, data[0])), MeasureSpec(**data[1])
    if method == "costs":
        return (Partition(_indices(data[0])),)
    return (str(data[0]),) if method in ("automatic", TRAIN) else ()


def pack_value(method: str, value: Any) -> Any:
    """Return what an operation returned as plain data.

    Args:
        method: one of `OPERATIONS`.
        value: what it returned.
    """
    if method == "measure":
        return [m.to_dict() | {"outputs": [asdict(output) for output in m.outputs]} for m in value]
    if method == "supported":
        return [list(value.shape), np.packbits(value).tobytes()]
    if method == "costs":
        return value.to_dict()
    return dict(value) if isinstance(value, Mapping) else None


def unpack_value(method: str, data: Any) -> Any:
    """Return what an operation returned, the inverse of `pack_value`.

    Args:
        method: one of `OPERATIONS`.
        data: plain data.

    Raises:
        Exception: the data are not what it returns.
    """
    if method == "measure":
        return [Measurement.from_dict(one) for one in data]
    if method == "supported":
        (rows, columns), bits = data
        return np.unpackbits(np.frombuffer(bits, np.uint8), count=rows * columns).astype(bool).reshape(rows, columns)
    if method == "costs":
        return CostTable.from_dict(data)
    if method == TRAIN:
        return {"policy": bytes(data["policy"]), "report": str(data["report"])}
    return {str(key): str(value) for key, value in data.items()} if data is not None else None


_ERRORS: dict[str, Callable[[str], OvplaceError]] = {
    kind.__name__: kind for kind in (BackendError, DeviceError, ModelError, PlacementError, UsageError)
}


def pack_error(error: Exception) -> list[str]:
    """Return an error as its kind and its text."""
    return [type(error).__name__, " ".join(str(error).split())[:2000]]


def unpack_error(data: list[str], machine: str) -> OvplaceError:
    """Return the error that a machine answered with.

    Args:
        data: what `pack_error` returned.
        machine: its name, which the text says.
    """
    kind, text = data
    return _ERRORS.get(kind, BackendError)(f"{text} (on machine '{machine}')")


def lost(count: int, text: str) -> list[Measurement]:
    """Return measurements that say why there are none.

    Args:
        count: number of candidates.
        text: why.
    """
    return [Measurement.failed(ErrorKind.CRASH, text)] * count


def _packed_candidate(candidate: Candidate) -> Data:
    placement = candidate.placement
    data: Data = {"name": candidate.name, "target": candidate.target, "staged": candidate.staged}
    data["reference"] = candidate.reference
    if placement is not None:
        data |= {"devices": list(placement.devices), "device_of": _packed_indices(placement.device_of)}
    return data | {"part": _packed_indices(np.array(candidate.part, dtype=np.int64))}


def _candidate(data: Data) -> Candidate:
    placement = Placement(_indices(data["device_of"]), tuple(data["devices"])) if "device_of" in data else None
    part = tuple(_indices(data["part"]).tolist())
    flags = bool(data["staged"]), bool(data.get("reference"))  # which earlier versions did not send
    return Candidate(str(data["name"]), placement, str(data["target"]), part, *flags)


def _packed_indices(array: Any) -> bytes:
    return bytes(np.asarray(array).astype("<i4").tobytes())


def _indices(data: bytes) -> Any:
    return np.frombuffer(data, dtype="<i4").astype(np.int64)
