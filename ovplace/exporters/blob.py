"""The compiled model. It is bound to this OpenVINO version, these devices and their drivers."""

from __future__ import annotations

from pathlib import Path

from ovplace.errors import ModelError
from ovplace.ir.load import load

TARGET = "placed.blob"


def write(folder: Path, target: Path) -> list[Path]:
    """Compile on the devices of the placement and write the blob to the file `target`.

    Raises:
        DeviceError: a device of the placement is not on this machine.
        ModelError: a device's plugin cannot export.
    """
    compiled = load(folder)
    try:
        blob = compiled.export_model()
    except RuntimeError as error:
        raise ModelError(f"a device of this placement cannot export compiled models: {error}") from error
    target.write_bytes(blob.getbuffer())
    return [target]
