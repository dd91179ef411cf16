"""Opening a model file of any format that OpenVINO reads."""

from __future__ import annotations

from pathlib import Path

import openvino as ov
from openvino.frontend import FrontEndManager

from ovplace.errors import ModelError
from ovplace.ir.shapes import last_line

_FORMATS = {".xml": "ir", ".onnx": "onnx", ".tflite": "tflite", ".pdmodel": "paddle", ".pb": "tf"}
_KNOWN = "OpenVINO IR (.xml), ONNX (.onnx), TFLite (.tflite), Paddle (.pdmodel), TensorFlow (.pb or SavedModel folder)"


def open_model(core: ov.Core, path: Path) -> ov.Model:
    """Read a model file.

    Args:
        core: The OpenVINO core that reads it.
        path: An IR, ONNX, TFLite, Paddle or TensorFlow file, or a SavedModel folder.

    Raises:
        ModelError: The file is missing, unreadable, damaged, of an unknown format, or holds unknown operations.
    """
    path = Path(path)
    _check(path)
    try:
        return core.read_model(path)
    except RuntimeError as error:
        raise ModelError(_explain(path, str(error)) or f"cannot read the model '{path}': {last_line(error)}") from error


def _check(path: Path) -> None:
    if not path.exists():
        raise ModelError(f"the model '{path}' does not exist; check the path")
    if path.is_dir():
        if not (path / "saved_model.pb").exists():
            raise ModelError(f"'{path}' is a folder without saved_model.pb; give a model file: {_KNOWN}")
        return
    framework = _FORMATS.get(path.suffix.lower())
    if framework is None:
        raise ModelError(f"'{path}' has the unknown suffix '{path.suffix}'; known are {_KNOWN}")
    try:
        path.open("rb").close()
    except OSError as error:
        raise ModelError(f"the model '{path}' cannot be opened: {error.strerror}; check its permissions") from error
    # Asking the one frontend first: read_model would try all, and TensorFlow's prints what it can't parse to stderr.
    if framework != "tf" and not FrontEndManager().load_by_framework(framework).supported(path):
        raise ModelError(f"'{path}' is no {framework.upper()} model, whatever its suffix says; export it again")


def _explain(path: Path, said: str) -> str:
    if "weights" in said.lower() and path.suffix.lower() == ".xml":
        weights = path.with_suffix(".bin")
        found = f"has only {weights.stat().st_size} bytes" if weights.exists() else "does not exist"
        return f"the weights file '{weights}' {found}; put the one that belongs to '{path.name}' beside it"
    if "No conversion rule found for operations:" in said:
        missing = said.partition("No conversion rule found for operations:")[2].strip().splitlines()[0]
        return f"'{path}' has operations that OpenVINO cannot read: {missing[:300]}; export it without them"
    return ""
