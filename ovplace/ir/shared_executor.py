"""Submodels with the executor that HETERO gives them.

HETERO compiles the submodels of a split model with the property `EXCLUSIVE_ASYNC_REQUESTS`, where the plugin knows it
(openvino `src/plugins/hetero/src/compiled_model.cpp`). All submodels of a plugin then share one executor with its
threads. A model that is compiled by itself has its own, and so has each submodel that HETERO imports from a blob or
from `CACHE_DIR`: eight to ten submodels on two aliases of the CPU then take 2 to 10 % longer
(`python -m benchmarks run imported`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import openvino as ov

_KEY = "EXCLUSIVE_ASYNC_REQUESTS"


def submodel_properties(core: ov.Core, device: str) -> dict[str, object]:
    """Return the properties with which HETERO compiles a submodel for a device.

    Args:
        core: the Core in which the device is registered.
        device: its name.
    """
    try:
        known = core.get_property(device, "INTERNAL_SUPPORTED_PROPERTIES")
    except RuntimeError:  # not every plugin has such a list
        return {}
    return {_KEY: True} if _KEY in known else {}


def through_cache(core: ov.Core, cache_dir: str | Path, devices: Sequence[str]) -> dict[str, object]:
    """Return the settings with which HETERO loads a placement from `CACHE_DIR` as fast as it compiles it.

    Args:
        core: the Core in which the devices are registered.
        cache_dir: folder of OpenVINO's cache.
        devices: names of the devices of the placement; of one alone only the folder is set.
    """
    settings: dict[str, object] = {"CACHE_DIR": str(cache_dir)}
    if len(devices) > 1:
        settings["DEVICE_PROPERTIES"] = _of_each(core, devices)
    return settings


def import_placed(core: ov.Core, blob: bytes, devices: Sequence[str]) -> ov.CompiledModel:
    """Return a model that HETERO compiled and exported, as fast as HETERO compiles it.

    Args:
        core: the Core in which the devices are registered.
        blob: what `CompiledModel.export_model` wrote.
        devices: names of the devices that it may use.

    Raises:
        RuntimeError: the blob does not load.
    """
    return core.import_model(blob, f"HETERO:{','.join(devices)}", {"DEVICE_PROPERTIES": _of_each(core, devices)})


def _of_each(core: ov.Core, devices: Sequence[str]) -> dict[str, dict[str, object]]:
    return {device: submodel_properties(core, device) for device in devices}
