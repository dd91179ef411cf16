"""Saving models as IR, also over the files that they were read from."""

from __future__ import annotations

from filecmp import cmp
from pathlib import Path

import openvino as ov

from ovplace.errors import ConfigError, StoreError, UsageError
from ovplace.ir.exceptions import unwritten
from ovplace.store.atomic import replace_file
from ovplace.store.run_folder import RunFolder


def save_over(model: ov.Model, path: Path) -> None:
    """Save beside the final names first: `model` may be mapped from the very file that is replaced.

    Args:
        model: the model.
        path: the `.xml`; the weights go beside it as `.bin`.

    Raises:
        OSError: it cannot be written; likewise RuntimeError.
    """
    _replace(_save_beside(model, path), path)


def save_in_memory_model(model: object, folder: Path, begun: bool) -> Path:
    """Save a model that is no file into a run folder; return its path.

    Args:
        model: it should be an `ov.Model`.
        folder: the run folder.
        begun: whether a run has begun there, whose model must not be replaced by another.

    Raises:
        UsageError: it is no `ov.Model`.
        ConfigError: the run has begun with another one.
        StoreError: it cannot be written.
    """
    if not isinstance(model, ov.Model):
        raise UsageError(
            f"a model is a path or an openvino.Model, got {type(model).__name__}; convert it by openvino.convert_model"
        )
    path = RunFolder(folder).given_model
    try:
        folder.mkdir(parents=True, exist_ok=True)
        saved = _save_beside(model, path)
        if begun and path.exists() and not _same(saved, path):
            for file in _files(saved):
                file.unlink()
            raise ConfigError(f"the run in '{folder}' began with another model; choose another folder, or delete it")
        _replace(saved, path)
    except (OSError, RuntimeError) as error:
        raise StoreError(
            f"cannot save the model into '{folder}': {unwritten(error, folder)}; choose another folder"
        ) from error
    return path


def _save_beside(model: ov.Model, path: Path) -> Path:
    temporary = path.with_name(f"new-{path.name}")
    ov.save_model(model, temporary, compress_to_fp16=False)
    return temporary


def _replace(saved: Path, path: Path) -> None:
    for new, old in zip(_files(saved), _files(path), strict=True):
        replace_file(new, old)


def _same(one: Path, other: Path) -> bool:
    return all(cmp(a, b, shallow=False) for a, b in zip(_files(one), _files(other), strict=True))


def _files(path: Path) -> tuple[Path, Path]:
    """Return the weights, which must be in place first, and the file itself."""
    return path.with_suffix(".bin"), path
