"""The answer of a run, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ovplace.config.files import given_path
from ovplace.core.device import Device
from ovplace.errors import DeviceError, PlacementError, StoreError, UsageError
from ovplace.store.run_db import cache_key
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    import openvino as ov

    from ovplace.ir.placed_model import PlacedModel


def load(folder: str | Path, core: ov.Core | None = None, *, cache_dir: str | Path | None = None) -> ov.CompiledModel:
    """Compile the placed model of a run folder, or of an exported one, on its devices.

    Nothing has to be set up before: variants are registered, and the emulated GPU is enabled where it is needed.

    Args:
        folder: holds `placed.xml`, `placed.bin` and `placement.json`.
        core: the core to compile with; a new one by default.
        cache_dir: folder of OpenVINO's cache: the first call compiles and fills it, later ones load from it. Give it
            here rather than as a property of the core, with which a placement runs slower once it comes from the cache.

    Raises:
        UsageError: an argument is of another type.
        ModelError: the model cannot be read.
        PlacementError: there is no such folder, or the placement is of another model or version, or was changed.
        DeviceError: a device is not on this machine, or the emulated GPU comes too late (call
            `ovplace.enable_emulated_gpu()` before the first import of openvino).
        StoreError: `cache_dir` cannot be written.

    Example:
        >>> import ovplace
        >>> run = ovplace.optimize("models/demo.xml", "runs/demo", machine="i9-12900k+flex170", budget=5)
        >>> compiled = ovplace.load(run.folder)
        >>> compiled.output().get_any_name()
        'logits'
    """
    path = given_path(folder, "the run folder", "run.folder")
    caches = given_path(cache_dir, "cache_dir", "'cache'") if cache_dir else None
    core, found = open_placed(path, core)  # before openvino is imported

    from ovplace.devices.variants import reason
    from ovplace.ir import affinity

    cache = _cache_of(found.devices, caches) if caches else None
    try:
        compiled = affinity.compile_placed(core, found.model, found.table, cache)
    except RuntimeError as error:
        raise PlacementError(
            f"the placement in '{path}' does not compile here: {reason(error)}; optimize the model on this machine"
        ) from error
    # Without its Core, export_model of a HETERO model with a GPU part ends the process (openvino 2026.4.1).
    compiled.core = core
    return compiled


def _cache_of(devices: Sequence[Device], cache_dir: Path) -> Path:
    """Make a folder for these devices: OpenVINO takes what is in its cache whatever properties they have now."""
    path = cache_dir / cache_key([device.to_dict() for device in devices])
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write the cache_dir '{cache_dir}': {error.strerror}; give another folder") from error
    return path


def open_placed(folder: Path, core: ov.Core | None = None) -> tuple[ov.Core, PlacedModel]:
    """Return a core that knows the devices of a placement, and the placed model.

    Args:
        folder: a run folder, or an exported one.
        core: the core to register the devices in; a new one by default.

    Raises:
        UsageError: `core` is something else.
        ModelError: the model cannot be read.
        PlacementError: there is no such folder, or the placement is of another model or version, or was changed.
        DeviceError: as `load`.
    """
    RunFolder(folder).check_exists()
    _emulate_if_needed(folder)
    import openvino as ov

    from ovplace.devices.variants import register
    from ovplace.ir import placed_model

    core = ov.Core() if core is None else core
    if not isinstance(core, ov.Core):
        raise UsageError(f"core must be an openvino.Core, got {type(core).__name__}; leave it out for a new one")
    found = placed_model.read_placed(core, folder)
    _check_present(core, found.devices, folder)
    register(core, found.devices)
    return core, found


def _emulate_if_needed(folder: Path) -> None:
    """Enable the emulated GPU before openvino is imported, if the placement was made for it."""
    from ovplace.devices import emulated_gpu

    try:
        about = RunFolder(folder).placed_model.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # reading the model will say what is wrong
    wanted = "&quot;emulated&quot;: true" in about or '"emulated": true' in about
    if wanted and not emulated_gpu.is_enabled():
        emulated_gpu.enable()


def _check_present(core: ov.Core, devices: Sequence[Device], folder: Path) -> None:
    from ovplace.devices.variants import is_listed

    for device in devices:
        if not is_listed(core, device):
            present = ", ".join(core.available_devices)
            raise DeviceError(
                f"the placement in '{folder}' needs device '{device.base}', this machine has {present}; "
                "optimize the model here, or install its driver (see 'ovplace devices')"
            )
