"""The files a program loads: `placed.xml/.bin` with its provenance, and `placement.json` beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from ovplace.atomic import atomic_write
from ovplace.core.device import Device
from ovplace.core.text.json_text import parse_json
from ovplace.core.text.placement_table import parse_table
from ovplace.errors import PlacementError
from ovplace.ir.content_hash import content_hash
from ovplace.ir.exceptions import unwritten
from ovplace.ir.opening import open_model
from ovplace.ir.saving import save_over
from ovplace.store.run_folder import RunFolder

SCHEMA = 1
STORED_AFFINITY = "user_dataaffinity"
"""Key of an operation's rt_info under which an IR keeps its device: `save_model` writes it as
`<user_data name="affinity">` and `read_model` restores it. HETERO reads the key `affinity`, which no IR keeps."""
_ROOT = "ovplace"


@dataclass(frozen=True)
class PlacedModel:
    """A placement read back from its folder.

    Attributes:
        model: the prepared model.
        table: device name of every operation.
        devices: the devices the table names, with their properties.
    """

    model: ov.Model
    table: Mapping[str, str]
    devices: tuple[Device, ...]


def write_placed(
    prepared: Path,
    folder: Path,
    table: Mapping[str, str],
    devices: Sequence[Device],
    provenance: Mapping[str, object],
) -> None:
    """Write `placed.xml/.bin`, in which each operation carries its device, and `placement.json` into `folder`.

    Args:
        prepared: the prepared model; may lie in `folder` under the same name.
        folder: where the files go.
        table: device name of every operation.
        devices: the devices the table names.
        provenance: what else the model shall remember of the run.

    Raises:
        PlacementError: the files cannot be written.
    """
    model = ov.Core().read_model(prepared)
    used = [device.to_dict() for device in devices if device.name in set(table.values())]
    about = {
        "schema": str(SCHEMA),
        "model_hash": content_hash(model),
        "devices": json.dumps(used),
        "provenance": json.dumps(provenance),
    }
    for key, value in about.items():
        model.set_rt_info(value, [_ROOT, key])
    save_placed(model, folder, table)


def save_placed(model: ov.Model, folder: Path, table: Mapping[str, str]) -> None:
    """Save a model that knows where it comes from, with the device of each operation.

    Args:
        model: the model, whose operations get the device in their rt_info.
        folder: where `placed.xml/.bin` and `placement.json` go.
        table: device name of every operation.

    Raises:
        PlacementError: the files cannot be written.
    """
    for op in model.get_ops():
        op.get_rt_info()[STORED_AFFINITY] = table[op.get_friendly_name()]
    try:
        save_over(model, RunFolder(folder).placed_model)
        atomic_write(RunFolder(folder).placement, json.dumps(table, indent=0, ensure_ascii=False) + "\n")
    except (OSError, RuntimeError) as error:
        raise PlacementError(
            f"cannot write the placed model into '{folder}': {unwritten(error, folder)}; make room there, or "
            "mend the folder, and repeat the same command"
        ) from error


def read_placed(core: ov.Core, folder: Path) -> PlacedModel:
    """Read a folder that `write_placed` has filled.

    Args:
        core: the OpenVINO core that reads the model.
        folder: a run folder, or an exported one.

    Returns:
        The model with its placement and devices.

    Raises:
        ModelError: the model cannot be read.
        PlacementError: there is no placement, it is of another version, or it does not belong to the model.
    """
    path = RunFolder(folder).placed_model
    model = open_model(core, path)
    about = _read_about(model, path)
    table, devices = _read_table(RunFolder(folder).placement), _read_devices(about["devices"], folder)
    _check_belongs(model, table, about["model_hash"], folder)
    strange = set(table.values()) - {device.name for device in devices}
    if strange:
        raise PlacementError(
            f"the placement in '{folder}' names device '{min(strange)}', the model was placed on "
            f"{', '.join(device.name for device in devices)}; export the run again"
        )
    return PlacedModel(model, table, devices)


def check_placed(folder: Path) -> None:
    """Check that a folder can be read as `read_placed` reads it.

    Args:
        folder: a run folder, or an exported one.

    Raises:
        ModelError: the model cannot be read.
        PlacementError: there is no placement, it is of another version, or it does not belong to the model.
    """
    read_placed(ov.Core(), folder)


def _read_about(model: ov.Model, path: Path) -> dict[str, str]:
    """Return what `write_placed` has noted in the model."""
    keys = ("schema", "model_hash", "devices")
    about = {key: str(model.get_rt_info([_ROOT, key]).value) for key in keys if model.has_rt_info([_ROOT, key])}
    if "schema" not in about:
        raise PlacementError(f"'{path}' holds no placement yet; let 'ovplace optimize' finish in this folder")
    if about["schema"] != str(SCHEMA):
        raise PlacementError(
            f"the placement in '{path.parent}' is of version {about['schema']}, this ovplace reads {SCHEMA}; "
            "search again with 'ovplace optimize' in another folder"
        )
    if missing := [key for key in keys if key not in about]:
        raise PlacementError(f"'{path}' lacks '{missing[0]}', which ovplace notes in it; export the run again")
    return about


def _read_devices(text: str, folder: Path) -> tuple[Device, ...]:
    try:
        return tuple(Device.from_dict(device) for device in parse_json(text))
    except (ValueError, TypeError, KeyError) as error:
        raise PlacementError(
            f"cannot read the devices of the model in '{folder}': {error}; export the run again"
        ) from error


def _read_table(path: Path) -> dict[str, str]:
    try:
        return parse_table(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise PlacementError(f"there is no '{path}'; export the run again") from None
    except (OSError, ValueError) as error:
        raise PlacementError(f"cannot read the placement '{path}': {error}; export the run again") from error


def _check_belongs(model: ov.Model, table: Mapping[str, str], model_hash: str, folder: Path) -> None:
    names = {op.get_friendly_name() for op in model.get_ops()}
    missing, unknown = names - set(table), set(table) - names
    if missing or unknown:
        raise PlacementError(
            f"the placement in '{folder}' is of another model: {len(missing)} operations lack a device, "
            f"{len(unknown)} names are unknown (such as '{min(missing or unknown)}'); optimize this model again"
        )
    if content_hash(model) != model_hash:
        raise PlacementError(f"the model in '{folder}' was changed after it was placed; optimize this model again")
