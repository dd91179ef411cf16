"""Telling whether the model file of a run is still the one it began with."""

from __future__ import annotations

import hashlib
from pathlib import Path


def fingerprint(model: Path) -> str:
    """Return a hash of the model's files: the file itself with an IR's weights beside it, or a whole folder.

    Weights elsewhere, such as ONNX external data, are not looked at.
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in _files(model):
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def _files(model: Path) -> list[Path]:
    if model.is_dir():
        return sorted(path for path in model.rglob("*") if path.is_file())
    beside = [model.with_suffix(".bin")] if model.suffix == ".xml" else []
    return [path for path in (model, *beside) if path.is_file()]
