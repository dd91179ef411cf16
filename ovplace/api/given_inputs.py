"""Inputs that are arrays in memory: saved into the run folder, and the shapes that they give the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ovplace.api.options import shape_text
from ovplace.atomic import replacing
from ovplace.errors import ConfigError, StoreError, UsageError
from ovplace.store.arrays import read_arrays, write_arrays
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    import openvino as ov

Arrays = Mapping[str, "np.ndarray[Any, Any]"]


def with_saved_inputs(given: Mapping[str, object], model: str | Path | ov.Model, folder: Path) -> dict[str, object]:
    """Return options in which arrays are replaced by the file that they are saved to, and give the shapes.

    Args:
        given: options, as from `search_fields`.
        model: the model that the inputs are for; one in memory has been saved into `folder`.
        folder: the run folder.

    Raises:
        OvplaceError: the arrays do not fit the model or the run, or cannot be saved.
    """
    value = given.get("input")
    if value is None or isinstance(value, str):
        return dict(given)
    named = value if isinstance(value, Mapping) else _with_names(value, model, folder)
    arrays = {str(name): _array(str(name), item) for name, item in named.items()}
    path = save_inputs(arrays, folder, begun=RunFolder(folder).has_begun)
    return {"shape": shape_text({name: array.shape for name, array in arrays.items()}), **given, "input": str(path)}


def _with_names(value: object, model: str | Path | ov.Model, folder: Path) -> dict[str, object]:
    """Return one array for each input, by the input's name in the saved model: a model may be converted anew.

    Args:
        value: an array for a single input, or a sequence of arrays in the order of the inputs.
        model: the model.
        folder: where it is saved, unless it is a file.

    Raises:
        UsageError: the model is a file, or has another number of inputs.
    """
    if isinstance(model, str | Path):
        raise UsageError("arrays for a model file need names: input={'NAME': array}, or input='file.npz'")
    import openvino as ov

    from ovplace.ir.inputs import input_name
    from ovplace.ir.opening import open_model

    arrays = value if isinstance(value, list | tuple) else [value]
    ports = open_model(ov.Core(), RunFolder(folder).given_model).inputs
    if len(arrays) != len(ports):
        raise UsageError(f"input has {len(arrays)} arrays, the model {len(ports)} inputs; give one for each")
    return dict(zip(map(input_name, ports), arrays, strict=True))


def save_inputs(arrays: Arrays, folder: Path, begun: bool) -> Path:
    """Save arrays into a run folder as an `.npz`, and return its path.

    Args:
        arrays: one for each input, by name.
        folder: the run folder.
        begun: whether a run has begun there, whose inputs must not be replaced by others.

    Raises:
        ConfigError: the run has begun with other inputs.
        StoreError: the file cannot be written.
    """
    path = RunFolder(folder).given_inputs
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (begun and path.exists()):
            # Another process may be searching with those that are there.
            with RunFolder(folder).locked(), replacing(path) as new:
                write_arrays(new, arrays)
        elif not _holds(path, arrays):
            raise ConfigError(f"the run in '{folder}' began with other inputs; choose another folder, or delete it")
    except OSError as error:
        raise StoreError(f"cannot save the inputs into '{folder}': {error.strerror}; choose another folder") from error
    return path


def _holds(path: Path, arrays: Arrays) -> bool:
    """Return whether a file has these arrays and no others, in whatever order."""
    try:
        return _contents(read_arrays(path)) == _contents(arrays)
    except ValueError:
        return False


def _contents(arrays: Arrays) -> dict[str, tuple[object, ...]]:
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    """Return a value as an array; a tensor that takes part in training is copied out of it."""
    try:
        array = np.asarray(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError) as error:  # lists of different lengths, tensors on a GPU
        why = str(error).splitlines()[0]
        raise UsageError(f"input '{name}' is not an array: {why}; give a numpy array of the input's type") from error
    if array.dtype.hasobject:
        raise UsageError(f"input '{name}' is not an array, got {type(value).__name__}; give a numpy array of numbers")
    return array
