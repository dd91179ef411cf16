"""Saving models as IR, also over the files that they were read from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import openvino as ov

from ovplace.atomic import replace_file
from ovplace.errors import ConfigError, StoreError, UsageError
from ovplace.ir.content_hash import computation_hash
from ovplace.ir.exceptions import unwritten
from ovplace.ir.opening import open_model
from ovplace.store.run_folder import RunFolder


def save_over(model: ov.Model, path: Path) -> None:
    """Save beside the final names first: `model` may be mapped from the very file that is replaced.

    Args:
        model: the model.
        path: the `.xml`; the weights go beside it as `.bin`.

    Raises:
        OSError: it cannot be written; likewise RuntimeError.
    """
    new = path.with_name(f"new-{path.name}")
    try:
        ov.save_model(model, new, compress_to_fp16=False)
        for suffix in (".bin", ".xml"):  # the weights must be in place first
            replace_file(new.with_suffix(suffix), path.with_suffix(suffix))
    except (OSError, RuntimeError):
        for suffix in (".bin", ".xml"):  # a full disk has the room again
            with suppress(OSError):
                new.with_suffix(suffix).unlink()
        raise


def save_in_memory_model(model: object, folder: Path, begun: bool) -> Path:
    """Save a model that is no file into a run folder; return its path.

    Args:
        model: it should be an `ov.Model`.
        folder: the run folder.
        begun: whether a run has begun there; its model is kept, and must compute the same.

    Raises:
        UsageError: it is no `ov.Model`.
        ConfigError: the run has begun with another one.
        ModelError: the one that it has begun with is damaged.
        StoreError: it cannot be written.
    """
    if not isinstance(model, ov.Model):
        raise UsageError(
            f"the model must be a path or an openvino.Model, got {type(model).__name__}; use openvino.convert_model"
        )
    path = RunFolder(folder).given_model
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (begun and path.exists()):
            with RunFolder(folder).locked():  # another process may be searching with the one that is there
                save_over(model, path)
        elif computation_hash(model) != computation_hash(open_model(ov.Core(), path)):
            raise ConfigError(f"the run in '{folder}' began with another model; choose another folder, or delete it")
    except (OSError, RuntimeError) as error:
        raise StoreError(
            f"cannot save the model into '{folder}': {unwritten(error, folder)}; choose another folder"
        ) from error
    return path
