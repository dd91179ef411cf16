"""Saving models as IR, also over the files that they were read from."""

from __future__ import annotations

from pathlib import Path

import openvino as ov

from ovplace.errors import StoreError, UsageError
from ovplace.ir.exceptions import last_line

GIVEN = "given.xml"
"""The model of a run that was given as an object."""


def save(model: ov.Model, path: Path) -> None:
    """Save beside the final names first: `model` may be mapped from the very file that is replaced.

    Raises:
        OSError: it cannot be written; likewise RuntimeError.
    """
    temporary = path.with_name(f"new-{path.name}")
    ov.save_model(model, temporary, compress_to_fp16=False)
    temporary.with_suffix(".bin").replace(path.with_suffix(".bin"))
    temporary.replace(path)


def save_given(model: object, folder: Path) -> Path:
    """Save a model that is no file into a run folder; return its path.

    Raises:
        UsageError: it is no `ov.Model`.
        StoreError: it cannot be written.
    """
    if not isinstance(model, ov.Model):
        raise UsageError(
            f"a model is a path or an openvino.Model, got {type(model).__name__}; convert it by openvino.convert_model"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save(model, folder / GIVEN)
    except (OSError, RuntimeError) as error:
        raise StoreError(f"cannot save the model into '{folder}': {last_line(error)}; choose another folder") from error
    return folder / GIVEN
