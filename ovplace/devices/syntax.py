"""The text of `-d` and the `[devices.*]` tables as requests for devices.

-d GPU,CPU                                             devices as they are
-d HETERO:GPU,CPU                                      the same, as benchmark_app writes it
-d 'CPU{INFERENCE_PRECISION_HINT:f32},GPU.1'           a device with properties keeps its name
-d 'CPU_BF16=CPU{INFERENCE_PRECISION_HINT:bf16},CPU'   a variant: the same plugin under a second name
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ovplace.core.device import Device
from ovplace.errors import ConfigError, UsageError

_META = ("AUTO", "MULTI", "BATCH", "HETERO")
_LONGEST = 10_000
"""Characters of a `-d` text: the time of reading it grows with the square."""

_OUTSIDE_BRACES = re.compile(r",(?![^{}]*\})")
_ITEM = re.compile(r"(?:(?P<name>[\w.]+)=)?(?P<base>[\w.]+)(?:\{(?P<properties>[^{}]*)\})?")
_EXAMPLE = "-d 'CPU_BF16=CPU{INFERENCE_PRECISION_HINT:bf16},GPU'"
_OWN_SUFFIXES = ("_DEFAULT", "_NULL")

# Measured on openvino 2026.4.1 (4 convolutions, 2 cores): with INFERENCE_NUM_THREADS=1 a whole model uses 1.0 core,
# cut in two between devices that both say 1 it uses 2.0 and is 28 % faster: a gain of threads, not of placement.
_THREADS = "INFERENCE_NUM_THREADS"
_SCHEDULING = frozenset(
    {
        "AFFINITY",
        "ENABLE_CPU_PINNING",
        "ENABLE_CPU_RESERVATION",
        "ENABLE_HYPER_THREADING",
        "ENABLE_TENSOR_PARALLEL",
        "MODEL_DISTRIBUTION_POLICY",
        "NUM_STREAMS",
        "PERFORMANCE_HINT",
        "PERFORMANCE_HINT_NUM_REQUESTS",
        "SCHEDULING_CORE_TYPE",
        "TBB_PARTITIONER",
    }
)


@dataclass(frozen=True)
class DeviceRequest:
    """A device as the user names it.

    Attributes:
        name: the name in affinities.
        base: the OpenVINO device behind it; equal to `name` where the user gave none.
        properties: OpenVINO properties, key to value as text.
    """

    name: str
    base: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_bare(self) -> bool:
        """Whether there is nothing but a name."""
        return self.name == self.base and not self.properties


def parse_devices(text: str) -> tuple[DeviceRequest, ...]:
    """Return the devices that a `-d` text asks for, in its order.

    Raises:
        UsageError: the text cannot be read, or its devices do not go together.
        DeviceError: a variant's name is not legal.
    """
    if len(text) > _LONGEST:
        raise UsageError(f"-d has {len(text)} characters, and may have {_LONGEST}; write it as in {_EXAMPLE}")
    head, colon, rest = text.strip().partition(":")
    listed = rest if colon and head == "HETERO" else text
    requests = tuple(_parse_item(item.strip(), text) for item in _OUTSIDE_BRACES.split(listed))
    check_together(requests)
    return requests


def from_tables(tables: Mapping[str, object]) -> dict[str, DeviceRequest]:
    """Return the devices that TOML tables define, by name, in their order.

    Args:
        tables: `{"CPU_BF16": {"base": "CPU", "properties": {"INFERENCE_PRECISION_HINT": "bf16"}}}`.

    Raises:
        ConfigError: a key is unknown or missing, or a value has the wrong type.
        DeviceError: a variant's name is not legal.
    """
    return {name: _from_table(name, table) for name, table in tables.items()}


def check_together(requests: Sequence[DeviceRequest]) -> None:
    """Check that devices can be compared in one run.

    Raises:
        UsageError: a name comes twice, a device is meant twice, or thread settings would pass for placement gains.
    """
    for name, count in Counter(request.name for request in requests).items():
        if count > 1:
            raise UsageError(f"device '{name}' is named twice; give each a name of its own: {_EXAMPLE}")
    names = [request.name for request in requests]
    if "GPU" in names and (other := next((name for name in names if name.startswith("GPU.")), "")):
        raise UsageError(f"'GPU' is GPU.0 and cannot stand beside '{other}'; write GPU.0, GPU.1, ...")
    _check_threads(requests)
    _check_scheduling(requests)


def _check_threads(requests: Sequence[DeviceRequest]) -> None:
    limited = next((request.name for request in requests if _THREADS in request.properties), "")
    if limited and len(requests) > 1:
        raise UsageError(
            f"device '{limited}' sets {_THREADS}, which HETERO ignores once a model is split: the split model would "
            "use all cores and seem faster; remove it, and limit the whole process (taskset) to use fewer cores"
        )


def _check_scheduling(requests: Sequence[DeviceRequest]) -> None:
    first: dict[str, DeviceRequest] = {}
    for request in requests:
        other = first.setdefault(request.base.removesuffix(".0"), request)  # GPU.0 is GPU
        differing = [k for k in sorted(_SCHEDULING) if request.properties.get(k) != other.properties.get(k)]
        if differing:
            raise UsageError(
                f"devices '{other.name}' and '{request.name}' differ in {', '.join(differing)}, which HETERO does not "
                "keep once a model is split: the difference would look like a gain; give both the same, or neither"
            )


def _parse_item(item: str, text: str) -> DeviceRequest:
    _refuse_meta(re.split(r"[:({=]", item)[0], text)
    match = _ITEM.fullmatch(item)
    if match is None:
        raise UsageError(f"cannot read device '{item}' in -d '{text}'; write it as in {_EXAMPLE}")
    name, base, properties = match["name"] or match["base"], match["base"], match["properties"]
    _refuse_meta(base, text)
    return _checked(DeviceRequest(name, base, _parse_properties(properties, item) if properties is not None else {}))


def _refuse_meta(head: str, text: str) -> None:
    if head in _META:
        raise UsageError(
            f"-d '{text}' names {head}, which picks devices by itself; list the devices to place on: -d GPU,CPU"
            + (" or -d HETERO:GPU,CPU" if head == "HETERO" else f" ({head} is not a device)")
        )


def _parse_properties(text: str, item: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    for pair in text.split(","):
        key, _, value = (part.strip() for part in pair.partition(":"))
        if not key or not value or key in properties:
            raise UsageError(f"cannot read property '{pair.strip()}' in device '{item}'; write each KEY:VALUE once")
        properties[key] = value
    return properties


def _from_table(name: str, table: object) -> DeviceRequest:
    place = f"[devices.{name}]"
    if not isinstance(table, Mapping) or not isinstance(table.get("base"), str):
        raise ConfigError(f'{place} must have the device behind it, such as base = "CPU"; got {table!r}')
    if unknown := sorted(set(table) - {"base", "properties"}):
        raise ConfigError(f"{place} has the unknown key '{unknown[0]}'; it may have base and properties")
    properties = table.get("properties", {})
    if not isinstance(properties, Mapping):
        raise ConfigError(f"{place} properties must be a table of OpenVINO properties, got {properties!r}")
    texts = {str(key): _property_text(place, str(key), value) for key, value in properties.items()}
    try:
        return _checked(DeviceRequest(name, str(table["base"]), texts))
    except UsageError as error:
        raise ConfigError(f"{place}: {error}") from error


def _property_text(place: str, key: str, value: object) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"  # as OpenVINO prints them
    if isinstance(value, str | int | float):
        return str(value)
    raise ConfigError(f"{place} property {key} must be a string, a number or a boolean, got {value!r}")


def _checked(request: DeviceRequest) -> DeviceRequest:
    """Check what can be said of one device alone; Device checks the letters of its name."""
    device = Device(request.name, request.base, request.properties)
    if device.is_variant and ("." in request.name or request.name == device.plugin):
        raise UsageError(
            f"variant '{request.name}' of {request.base} needs a name without a dot that is not a device's own; "
            f"try '{request.base.replace('.', '')}_A'"
        )
    if request.name.endswith(_OWN_SUFFIXES):
        raise UsageError(f"device name '{request.name}' has an ending that ovplace itself uses; choose another")
    if "DEVICE_ID" in request.properties:
        raise UsageError(f"device '{request.name}' sets DEVICE_ID; name the device instead, such as GPU.1")
    return request
