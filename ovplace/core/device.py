"""A device as data: the name used in affinities and what stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ovplace.core.field_types import check_field_types
from ovplace.errors import DeviceError

_OF_FILES = {"CACHE_DIR", "CONFIG_FILE", "WEIGHTS_PATH"}
"""Properties that are paths: blobs are written to and read from the first, kernels of the GPU from the second.

Source: OpenVINO `src/inference/include/openvino/runtime/properties.hpp`; the second is the GPU plugin's own.
"""


def _frozen(mapping: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType(dict(sorted(mapping.items())))


@dataclass(frozen=True)
class Device:
    """A device or a variant of one, as placements and measurements name it.

    Attributes:
        name: the name written into affinities: `CPU`, `GPU.1`, or a variant's such as `CPU_BF16`.
        base: the OpenVINO device behind it, with its id: `CPU`, `GPU`, `GPU.1`, `NPU`.
        properties: OpenVINO properties set on it, key to value as text.
        facts: properties read from it (`full_name`, `driver`, `capabilities`, `kind`), text to text.
        emulated: the GPU plugin running on a CPU's OpenCL runtime.
    """

    name: str
    base: str
    properties: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    emulated: bool = False

    def __post_init__(self) -> None:
        """Check the name and freeze the mappings."""
        object.__setattr__(self, "properties", _frozen(self.properties))
        object.__setattr__(self, "facts", _frozen(self.facts))
        if named := sorted(_OF_FILES & self.properties.keys()):
            raise DeviceError(
                f"device '{self.name}' sets {named[0]}, which lets OpenVINO read or write files that a run folder from "
                "elsewhere could name; leave it out (ovplace keeps compiled stages in its own cache)"
            )
        # OpenVINO refuses to register a plugin under a name that does not contain the plugin's own.
        if self.plugin not in self.name:
            raise DeviceError(
                f"device name '{self.name}' must contain '{self.plugin}', the plugin behind it; "
                f"try '{self.plugin}_{self.name}'"
            )
        if not self.name.replace("_", "").replace(".", "").isalnum():
            raise DeviceError(f"device name '{self.name}' may hold only letters, digits, '_' and '.'")

    @property
    def plugin(self) -> str:
        """The plugin's name, which is `base` without the device id."""
        return self.base.split(".")[0]

    @property
    def is_variant(self) -> bool:
        """Whether the name has to be registered before OpenVINO knows it."""
        return self.name != self.base

    @property
    def label(self) -> str:
        """The name as users see it; an emulated device is always called so."""
        return f"{self.name} (emulated)" if self.emulated else self.name

    @property
    def precision(self) -> str:
        """The inference precision asked for, or `default` where the plugin decides."""
        return self.properties.get("INFERENCE_PRECISION_HINT", "default")

    @property
    def computes_in(self) -> str:
        """The inference precision asked for, else the plugin's own choice; empty where that is not known."""
        return self.properties.get("INFERENCE_PRECISION_HINT", self.facts.get("default_precision", ""))

    def to_dict(self) -> dict[str, object]:
        """Return plain data, the inverse of `from_dict`."""
        return {
            "name": self.name,
            "base": self.base,
            "properties": dict(self.properties),
            "facts": dict(self.facts),
            "emulated": self.emulated,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Device:
        """Build a device from what `to_dict` returned.

        Raises:
            TypeError: a field is missing, or of another type.
            DeviceError: the name or a property is not legal.
        """
        try:
            device = cls(**data)
        except AttributeError as error:  # a number in place of a text, for one
            raise TypeError(str(error)) from error
        check_field_types(device)
        return device

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle through plain data: mapping proxies cannot be pickled."""
        return (Device, tuple(self.to_dict().values()))
