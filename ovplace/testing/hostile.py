"""Hostile input: everything that reads what somebody else may have written, and mutations of good examples."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from ovplace.cli.arguments.placement_file import read_placement
from ovplace.config import toml
from ovplace.config.resolve import resolved
from ovplace.core.text.input_shapes import parse_shapes
from ovplace.core.text.json_text import parse_json
from ovplace.devices.syntax import parse_devices
from ovplace.errors import OvplaceError
from ovplace.learning.policy_file import PolicyFile
from ovplace.learning.tensors_text import tensors_from_text
from ovplace.profiling.timed_parts import TimedParts
from ovplace.simulation.machine_file import load_machine
from ovplace.store.blobs import Blobs
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder
from ovplace.train.training_state import read_training_state

Parser = Callable[[bytes, Path], object]
"""Reads bytes, in an empty folder where it wants a file."""


def _text(parse: Callable[[str], object]) -> Parser:
    return lambda data, _: parse(data.decode(errors="replace"))


def _file(name: str, parse: Callable[[Path], object]) -> Parser:
    def act(data: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(data)
        return parse(path)

    return act


def _database(path: Path) -> None:
    with closing(RunStore(path)) as store:
        store.trials()
        store.checkpoint()
        store.get("source")
        store.find("key")


def _profile(path: Path) -> object:
    try:
        return TimedParts.from_dict(parse_json(path.read_bytes()))
    except ValueError:  # is as good as none, for who reads it
        return None


PARSERS: Mapping[str, Parser] = {
    "devices.txt": _text(parse_devices),
    "shapes.txt": _text(parse_shapes),
    "set.txt": _text(lambda text: resolved(toml.build_config(toml.assignments([text])))),
    "config.toml": _file("config.toml", lambda path: RunFolder(path.parent).read_config()),
    "machine.toml": _file("machine.toml", lambda path: load_machine(str(path))),
    "placement.json": _file("placement.json", read_placement),
    "result.json": _file("result.json", lambda path: RunFolder(path.parent).read_result().to_json()),
    "run.db": _file("run.db", _database),
    "policy.npz": _file("policy.npz", PolicyFile.read),
    "weights.txt": _text(tensors_from_text),
    "profile.json": _file("profile.json", _profile),
    "training.state": _file("training.state", read_training_state),
    "key.blob": _file("key.blob", lambda path: Blobs(1 << 20, path.parent).find("key")),
}
"""What reads a file of each name of the corpus."""


def is_read(name: str, data: bytes, folder: Path) -> bool:
    """Return whether data are read; if not, they were refused with an error of ovplace's own tree.

    Args:
        name: a key of `PARSERS`.
        data: what the file or option holds.
        folder: an empty one.

    Raises:
        Exception: anything but such an error, which must not be.
    """
    try:
        PARSERS[name](data, folder)
    except OvplaceError as error:
        if not str(error):
            raise AssertionError("refused without a word") from error
        return False
    return True


_TOKEN = re.compile(rb'[\w.\-+]+|"[^"]*"')
_NASTY = (
    b"", b"\x00", b"-1", b"0", b"1.5", b"1e400", b"nan", b"inf", b"9" * 5000, b"99999999999999999999", b"[", b"]", b"{",
    b"}", b'"', b"'", b",", b":", b"=", b"..", b"\n", b"true", b"null", b"[]", b"{}", b'""', b"[[a]]\n", b"\xff\xfe",
    b"[" * 3000, b'{"a":' * 3000, b"../../etc/passwd", b"%s", b"\\u0000", b"x" * 10_000, b"ovplace.cli", b"os.path",
    b"\xf0\x9f\x98\x80", b"1979-05-27", b"\x1b[31m",
)  # fmt: skip


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return an example with one to six changes: words exchanged for bad ones, bytes changed, parts lost or repeated.

    Args:
        data: the example.
        rng: draws them.
    """
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        rng.choice((_exchange, _exchange, _overwrite, _flip, _repeat))(found, rng)
    return bytes(found)


def _exchange(data: bytearray, rng: random.Random) -> None:
    words = [match.span() for match in _TOKEN.finditer(bytes(data[:100_000]))]
    if words:
        start, end = rng.choice(words)
        data[start:end] = rng.choice(_NASTY)


def _overwrite(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data) + 1)
    data[start : start + rng.choice((0, 1, 2, 8, 50))] = rng.choice((b"", *_NASTY))


def _flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _repeat(data: bytearray, rng: random.Random) -> None:
    start, to = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    data[to:to] = data[start : start + rng.choice((5, 50, 500))] * rng.choice((1, 2, 50))
