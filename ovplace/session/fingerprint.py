"""Hashes of the files that a run reads, by which a continued run sees that they have changed."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

_WEIGHTS = {".xml": ".bin", ".pdmodel": ".pdiparams"}
"""Suffix of the weights beside a model of IR and of PaddlePaddle."""

_SAVED_MODEL = ("assets", "saved_model.pb", "variables")
"""What belongs to the model in a SavedModel folder, which may hold runs, too."""

States = tuple[tuple[int, int], ...]

_LOCATION = b"\x0a\x08location\x12"
"""The bytes before the length and the name of a weights file in ONNX: a protobuf entry with the key `location`.

Source: onnx `onnx/onnx.proto`, TensorProto.external_data and StringStringEntryProto.
"""


def fingerprint(model: Path) -> str:
    """Return a hash of the model's files: the file itself with its separate weights, or a SavedModel folder's."""
    digest = hashlib.blake2b(digest_size=16)
    for path in _files(model):
        digest.update(path.name.encode())
        with path.open("rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def known_fingerprint(model: Path) -> str:
    """Return `fingerprint`, computed once while the files stay as they are: a grid asks for each of its runs."""
    return _computed(fingerprint, model.absolute(), _states(_files(model)))


def file_hash(file: Path) -> str:
    """Return a hash of what a file holds, computed once while it stays as it is: each measurement asks for it.

    Raises:
        OSError: it cannot be read.
    """
    return _computed(_file_hash, file.absolute(), _states([file]))


def _file_hash(file: Path) -> str:
    return hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()


def _states(files: Iterable[Path]) -> States:
    """Return what changes where a file is written."""
    return tuple((state.st_mtime_ns, state.st_size) for state in (path.stat() for path in files))


@cache
def _computed(compute: Callable[[Path], str], path: Path, _: States) -> str:
    return compute(path)


def _files(model: Path) -> list[Path]:
    return [path for path in (model, *other_files(model)) if _is_file(path)]


def other_files(model: Path) -> list[Path]:
    """Return where the separate weights of a model are, or the content of a SavedModel folder.

    Raises:
        OSError: the model cannot be read.
    """
    if model.is_dir():
        return sorted(path for name in _SAVED_MODEL for path in (model / name, *(model / name).rglob("*")))
    suffix = model.suffix.lower()  # formats are told by it in either case
    if suffix == ".onnx" and model.is_file() and model.stat().st_size:
        return sorted({model.parent / name for name in _external(model)})
    return [model.with_suffix(_WEIGHTS[suffix])] if suffix in _WEIGHTS else []


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
