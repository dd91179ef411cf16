"""Messages from child processes: values of ovplace, plain data, arrays and errors, and nothing that acts.

A child runs drivers, which have been seen to write into pipes that were not theirs. Pickle calls whatever a message
names, so only classes are let in, and of those only values.
"""

from __future__ import annotations

import builtins
import dataclasses
import io
import pickle
import sys
from collections import OrderedDict
from enum import Enum
from pathlib import PurePath
from typing import IO, Any

_ARRAYS = {
    ("numpy", "dtype"), ("numpy", "ndarray"), ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"),
    ("numpy.core.multiarray", "_reconstruct"), ("numpy.core.multiarray", "scalar"),
    ("numpy.core.numeric", "_frombuffer"),
}  # fmt: skip
"""Classes and functions that make arrays and their numbers, in NumPy 2 and 1."""

_VALUES = (Enum, BaseException, OrderedDict, PurePath)


class RefusedError(pickle.UnpicklingError):
    """A message names what is not let in."""


class _Reader(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return a class that a message may name.

        Raises:
            RefusedError: it may not.
        """
        # A module that is not imported yet would run when it is.
        known = module_name in sys.modules or module_name.startswith("ovplace.")
        if (module_name, global_name) in _ARRAYS or (known and _is_value(super().find_class(module_name, global_name))):
            return super().find_class(module_name, global_name)
        raise RefusedError(f"a message may not name {module_name}.{global_name}")


def _is_value(found: object) -> bool:
    if not isinstance(found, type):
        return False
    return (
        dataclasses.is_dataclass(found) or issubclass(found, _VALUES) or found in (set, frozenset, bytearray, complex)
    )


def read_message(stream: IO[bytes]) -> Any:
    """Return the next message of a stream.

    Raises:
        RefusedError: it names what is not let in.
        Exception: what stands there is no message.
    """
    return _Reader(stream).load()


def data_of(value: object) -> bytes:
    """Return a value as a message, the inverse of `message_of`.

    Raises:
        Exception: it cannot be written as one.
    """
    stream = io.BytesIO()
    writer = pickle.Pickler(stream)
    # Packages such as tblib, which comes with Dask, register a form of their own for errors, which is not let in.
    writer.dispatch_table = {}
    writer.dump(value)
    return stream.getvalue()


def message_of(data: bytes) -> Any:
    """Return the message in `data`.

    Raises:
        Exception: it is no message, or none that is let in.
    """
    return read_message(io.BytesIO(data))


def sendable(error: Exception) -> Exception:
    """Return an error as one that can be read: those of other packages become a text."""
    if type(error).__module__.startswith("ovplace.") or getattr(builtins, type(error).__name__, None) is type(error):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
