"""Inputs that are arrays in memory: saved into the run folder, and the shapes that they give the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ovplace.api.options import shape_text
from ovplace.errors import ConfigError, StoreError, UsageError
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    import openvino as ov

Arrays = Mapping[str, "np.ndarray[Any, Any]"]


def with_saved_inputs(given: Mapping[str, object], model: str | Path | ov.Model, folder: Path) -> dict[str, object]:
    """Return options in which arrays are replaced by the file that they are saved to, and give the shapes.

    Args:
        given: options, as from `search_fields`.
        model: the model that the inputs are for.
        folder: the run folder.

    Raises:
        OvplaceError: the arrays do not fit the model or the run, or cannot be saved.
    """
    value = given.get("input")
    if value is None or isinstance(value, str):
        return dict(given)
    arrays = named_arrays(value, model)
    path = save_inputs(arrays, folder, begun=RunFolder(folder).has_begun)
    return {"shape": shape_text({name: array.shape for name, array in arrays.items()}), **given, "input": str(path)}


def named_arrays(value: Any, model: str | Path | ov.Model) -> Arrays:
    """Return one array for each input, by the input's name.

    Args:
        value: an array for a single input, a sequence of arrays in the order of the inputs, or a mapping from names to
            arrays; torch's tensors are arrays, too.
        model: its inputs have the names that `value` lacks.

    Raises:
        UsageError: `value` lacks names and the model is a file, their numbers differ, or one is no array.
    """
    if isinstance(value, Mapping):
        return {str(name): _array(str(name), item) for name, item in value.items()}
    if isinstance(model, str | Path):
        raise UsageError("arrays for a model file need names: input={'NAME': array}, or input='file.npz'")
    from ovplace.ir.inputs import input_name

    arrays = value if isinstance(value, list | tuple) else [value]
    if len(arrays) != len(model.inputs):
        raise UsageError(f"input has {len(arrays)} arrays, the model {len(model.inputs)} inputs; give one for each")
    names = map(input_name, model.inputs)
    return {name: _array(name, item) for name, item in zip(names, arrays, strict=True)}


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
    path, new = folder / "given.npz", folder / "new-given.npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(new, allow_pickle=False, **arrays)
        if begun and path.exists() and path.read_bytes() != new.read_bytes():
            new.unlink()
            raise ConfigError(f"the run in '{folder}' began with other inputs; choose another folder, or delete it")
        new.replace(path)
    except OSError as error:
        raise StoreError(f"cannot save the inputs into '{folder}': {error.strerror}; choose another folder") from error
    return path


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    """Return a value as an array; a tensor that takes part in training is copied out of it."""
    try:
        array = np.asarray(value.detach() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError) as error:  # lists of different lengths, tensors on a GPU
        why = str(error).splitlines()[0]
        raise UsageError(f"input '{name}' is no array: {why}; give a numpy array of the input's type") from error
    if array.dtype.hasobject:
        raise UsageError(f"input '{name}' is no array, got {type(value).__name__}; give a numpy array of numbers")
    return array
