"""Placements and HETERO: writing affinities, compiling, and reading back what really runs."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openvino as ov

from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.ir.shared_executor import through_cache


def op_names(model: ov.Model) -> list[str]:
    """Return the friendly name of every operation in the order `ir.read` numbers them, `[N]`."""
    return [op.get_friendly_name() for op in model.get_ordered_ops()]


def apply(model: ov.Model, table: Mapping[str, str]) -> None:
    """Write an affinity on every operation of `model`, in place.

    HETERO takes the map literally as soon as one operation has an affinity, and then insists on all of them.

    Args:
        model: the model, whose operations get the attribute `affinity` in their rt_info.
        table: device name of every operation, by friendly name.

    Raises:
        PlacementError: an operation is not in the table.
    """
    operations = model.get_ops()
    missing = [op.get_friendly_name() for op in operations if op.get_friendly_name() not in table]
    if missing:
        raise PlacementError(
            f"the placement is of another model: it lacks {len(missing)} of {len(operations)} operations, "
            f"such as '{missing[0]}'; use the placed.xml that lies beside it"
        )
    for op in operations:
        op.get_rt_info()["affinity"] = table[op.get_friendly_name()]


def compile_placed(
    core: ov.Core, model: ov.Model, table: Mapping[str, str], cache_dir: str | Path | None = None
) -> ov.CompiledModel:
    """Compile `model` with each operation on its device of the table.

    A placement on one device is compiled for that device alone: that is what a user would do without HETERO.

    Args:
        core: the OpenVINO core that compiles.
        model: the prepared model; it stays unchanged.
        table: device name of every operation, by friendly name.
        cache_dir: folder of OpenVINO's cache, to load from what an earlier call compiled; none by default.

    Returns:
        The compiled model.

    Raises:
        PlacementError: an operation is not in the table.
    """
    used = sorted(set(table.values()))
    settings = through_cache(core, cache_dir, used) if cache_dir else {}
    if len(used) == 1:
        return core.compile_model(model, used[0], settings)
    placed = model.clone()
    apply(placed, table)
    return core.compile_model(placed, f"HETERO:{','.join(used)}", settings)


def compile_placement(core: ov.Core, model: ov.Model, placement: Placement) -> ov.CompiledModel:
    """Compile `model`, read as `op_names` numbers it, with `placement`.

    Args:
        core: the OpenVINO core that compiles.
        model: the prepared model with N operations.
        placement: the device of each operation, `[N]`.

    Returns:
        The compiled model.

    Raises:
        PlacementError: model and placement have different numbers of operations.
    """
    names = op_names(model)
    if len(names) != len(placement.device_of):
        raise PlacementError(f"the placement has {len(placement.device_of)} operations, the model {len(names)}")
    devices = [placement.devices[d] for d in placement.device_of.tolist()]
    return compile_placed(core, model, dict(zip(names, devices, strict=True)))


def property_values(compiled: ov.CompiledModel, name: str) -> list[str]:
    """Return the values of a property as texts; the NPU's plugin gives a single one, where others give a list.

    Args:
        compiled: the compiled model.
        name: of the property, such as `EXECUTION_DEVICES`.
    """
    found = compiled.get_property(name)
    return [str(value) for value in ([found] if isinstance(found, str) else found)]


def submodel_chain(compiled: ov.CompiledModel) -> tuple[str, ...]:
    """Return the device of each submodel that HETERO really formed, in running order.

    Read from the header of the exported blob: the property HETERO_NUMBER_OF_SUBMODELS can be wrong (a counter leaks
    from earlier compilations in the same process). The weights behind the header are not written.

    Raises:
        RuntimeError: a plugin cannot export, and the header was not written before it failed.
    """
    blob = _Header()
    try:
        compiled.export_model(blob)
    except RuntimeError:
        if not blob.complete:
            raise
    header = blob.getvalue().split(b"\n", 1)[0].decode(errors="replace")
    return tuple(re.findall(r'compiled_submodel device="([^"]+)"', header))


class _Header(io.BytesIO):
    """Takes one line and refuses the rest."""

    complete = False

    def write(self, data: Any, /) -> int:
        if self.complete:
            raise _EnoughError
        self.complete = b"\n" in bytes(data)
        return super().write(data)


class _EnoughError(Exception):
    """The header is there."""


def check_chain(placement: Placement, chain: tuple[str, ...]) -> None:
    """Check that exactly the devices that were asked for run something.

    Args:
        placement: the placement that was asked for.
        chain: the device of each submodel, from `submodel_chain`.

    Raises:
        PlacementError: the compiled model runs on other devices.
    """
    if set(chain) != set(placement.used):
        raise PlacementError(
            f"asked for {', '.join(sorted(placement.used))}, but HETERO runs on {', '.join(sorted(set(chain)))}; "
            "operations that only hand on constants do not form a submodel"
        )
