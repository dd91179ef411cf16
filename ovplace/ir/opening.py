"""Opening a model file of any format that OpenVINO reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import openvino as ov
from openvino import frontend as fe

from ovplace.errors import ModelError, UsageError
from ovplace.graphs.op_graph import Shape
from ovplace.ir.exceptions import EXTERNAL_DATA, last_line

_FORMATS = {".xml": "ir", ".onnx": "onnx", ".tflite": "tflite", ".pdmodel": "paddle", ".pb": "tf"}
_KNOWN = "OpenVINO IR (.xml), ONNX (.onnx), TFLite (.tflite), Paddle (.pdmodel), TensorFlow (.pb or SavedModel folder)"

_UNKNOWN = ("No translator found for", "from unsupported opset", "doesn't contain the operation")
_UNCONVERTED = "Model wasn't fully converted"
_FAILURES = (fe.GeneralFailure, fe.InitializationFailure, fe.OpConversionFailure, fe.OpValidationFailure)


def open_model(core: ov.Core, path: Path, shapes: Mapping[str, Shape] | None = None) -> ov.Model:
    """Read a model file.

    Args:
        core: the OpenVINO core that reads it.
        path: an IR, ONNX, TFLite, Paddle or TensorFlow file, or a SavedModel folder.
        shapes: of the inputs, as from `parse_shapes`: used only where operations cannot be converted without.

    Raises:
        ModelError: the file is missing, unreadable, damaged, of an unknown format, or holds unknown operations or names
            that are no text.
        UsageError: `shapes` names an input that the file does not have.
    """
    path = Path(path)
    _check(path)
    try:
        model = core.read_model(path)
    except RuntimeError as error:
        model = _converted(path, shapes) if shapes and _UNCONVERTED in str(error) else None
        if model is None:
            unknown = f"cannot read the model '{path}': {last_line(error)}; export it anew, without what this names"
            raise ModelError(_explain(path, str(error), bool(shapes)) or unknown) from error
    _check_names(model, path)
    return model


def _check_names(model: ov.Model, path: Path) -> None:
    """Check that all names are UTF-8: OpenVINO reads a file with others, but cannot hand them to Python."""
    try:
        for op in model.get_ops():
            _ = op.get_friendly_name(), [port.get_names() for port in op.outputs()]
        _ = [variable.info.variable_id for variable in model.get_variables()]
    except UnicodeDecodeError as error:
        raise ModelError(
            f"'{path}' has a name that is not UTF-8: {error.object!r:.100}; export it with other names"
        ) from error


def _converted(path: Path, shapes: Mapping[str, Shape]) -> ov.Model | None:
    """Return the model with its shapes given before it is converted, as `ovc --input` does; None if that fails too."""
    reader = fe.FrontEndManager().load_by_framework(_FORMATS.get(path.suffix.lower(), "tf"))
    try:
        model = reader.load(path)
        inputs = {name: place for place in model.get_inputs() for name in place.get_names()}
        unknown = sorted(set(shapes) - {"", *inputs})
        if unknown:
            raise UsageError(f"--shape names '{unknown[0]}', no input of the model; there are {', '.join(inputs)}")
        for name, place in inputs.items():
            if (shape := shapes.get(name, shapes.get(""))) is not None:
                model.set_partial_shape(place, ov.PartialShape(list(shape)))
        return reader.convert(model)
    except (RuntimeError, *_FAILURES):
        return None


def _check(path: Path) -> None:
    if not path.exists():
        raise ModelError(f"the model '{path}' does not exist; check the path")
    if path.is_dir():
        if not (path / "saved_model.pb").exists():
            raise ModelError(f"'{path}' is a folder without saved_model.pb; give a model file: {_KNOWN}")
        return
    if not path.is_file():
        raise ModelError(f"'{path}' is not a regular file, which OpenVINO needs; copy the model into one")
    framework = _FORMATS.get(path.suffix.lower())
    if framework is None:
        raise ModelError(f"'{path}' has the unknown suffix '{path.suffix}'; known are {_KNOWN}")
    try:
        path.open("rb").close()
    except OSError as error:
        raise ModelError(f"the model '{path}' cannot be opened: {error.strerror}; check its permissions") from error
    _check_weights(path)
    # Asking the one frontend first: read_model would try all, and TensorFlow's prints what it can't parse to stderr.
    if framework != "tf" and not fe.FrontEndManager().load_by_framework(framework).supported(path):
        raise ModelError(f"'{path}' is no {framework.upper()} model, whatever its suffix says; export it again")


def _check_weights(path: Path) -> None:
    """Check that a file beside a model in OpenVINO IR can be looked up: OpenVINO ends the process where it cannot."""
    weights = path.with_suffix(".bin")
    try:
        if path.suffix.lower() == ".xml":
            weights.stat()
    except FileNotFoundError:
        return  # a model may have none
    except OSError as error:
        raise ModelError(f"cannot look up the weights file '{weights}': {error.strerror}; put it there anew") from error


def _explain(path: Path, said: str, shaped: bool) -> str:
    if path.name == "saved_model.pb":
        return f"'{path}' is a part of a SavedModel, or damaged; give the folder '{path.parent}'"
    if "in bin file" in last_line(said) and path.suffix.lower() == ".xml":
        weights = path.with_suffix(".bin")
        size = f"has only {weights.stat().st_size} bytes" if weights.exists() else "does not exist"
        found = "is a folder" if weights.is_dir() else size
        return f"the weights file '{weights}' {found}; put the one that belongs to '{path.name}' beside it"
    if EXTERNAL_DATA.search(said):
        return f"cannot read the model '{path}': {last_line(said)}; put the one that belongs to '{path.name}' beside it"
    listed = said.partition("No conversion rule found for operations:")[2].strip()
    if listed or any(text in said for text in _UNKNOWN):
        missing = listed.splitlines()[0][:300] if listed else last_line(said)
        return f"'{path}' has operations that OpenVINO cannot read: {missing}; export it without them"
    if _UNCONVERTED in said:
        hint = "" if shaped else "give fixed shapes by --shape, which may help, or "
        return f"'{path}' has operations that OpenVINO cannot convert: {_failed(said)}; {hint}export it without them"
    return ""


def _failed(said: str) -> str:
    """Return which operations failed, each with the last line of its log, from OpenVINO's report."""
    reports = re.findall(r"^-- (\S+) with a message:\n(.*?)(?=^-- |^Summary:|\Z)", said, re.DOTALL | re.MULTILINE)
    told = [f"{kind} ({last_line(log)})" for kind, log in reports]
    return ", ".join(told)[:300] or last_line(said)
