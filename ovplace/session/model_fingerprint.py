"""The fingerprint of a model's files, or of another file, by which a continued run sees that they have changed."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_WEIGHTS = {".xml": ".bin", ".pdmodel": ".pdiparams"}
"""Suffix of the weights beside a model of IR and of PaddlePaddle."""

_LOCATION = b"\x0a\x08location\x12"
"""The bytes before the length and the name of a weights file in ONNX: a protobuf entry with the key `location`.

Source: onnx `onnx/onnx.proto`, TensorProto.external_data and StringStringEntryProto.
"""


def fingerprint(model: Path) -> str:
    """Return a hash of the model's files: the file itself with its separate weights, or a whole folder."""
    digest = hashlib.blake2b(digest_size=16)
    for path in _files(model):
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def known_fingerprint(model: Path) -> str:
    """Return `fingerprint`, computed once while the files stay as they are: a grid asks for each of its runs."""
    states = [path.stat() for path in _files(model)]
    return _known(model.absolute(), tuple((state.st_mtime_ns, state.st_size) for state in states))


@cache
def _known(model: Path, _: tuple[tuple[int, int], ...]) -> str:
    return fingerprint(model)


def _files(model: Path) -> list[Path]:
    if model.is_dir():
        return sorted(path for path in model.rglob("*") if path.is_file())
    weights = [model.with_suffix(_WEIGHTS[model.suffix])] if model.suffix in _WEIGHTS else []
    if model.suffix == ".onnx" and model.is_file() and model.stat().st_size:
        weights = sorted({model.parent / name for name in _external(model)})
    return [path for path in (model, *weights) if _is_file(path)]


def _is_file(path: Path) -> bool:
    """Return whether there is such a file: what a model calls a location may be another text, too long for a name."""
    try:
        return path.is_file()
    except OSError:
        return False


def _external(model: Path) -> Iterator[str]:
    """Yield the names of the files in which an ONNX file says its weights are."""
    with model.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(_LOCATION)
        while at >= 0:
            length, start = _varint(data[at + len(_LOCATION) : at + len(_LOCATION) + 5])
            at += len(_LOCATION) + start
            yield data[at : at + length].decode(errors="replace").replace("\0", "")
            at = data.find(_LOCATION, at)


def _varint(data: bytes) -> tuple[int, int]:
    """Return a protobuf number and how many bytes it takes: seven bits in each, the lowest first."""
    value = 0
    for place, byte in enumerate(data):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, place + 1
    return 0, 0
