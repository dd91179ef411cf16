"""Errors of the runtime, as measurements and as errors of ovplace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ovplace.core.measurement import ErrorKind, Measurement, kind_of
from ovplace.errors import ModelError
from ovplace.ir.exceptions import without_positions


@contextmanager
def explained(fails: str, advice: str) -> Iterator[None]:
    """Turn an error of the reference into one that says what to do.

    Args:
        fails: what the model does not do, as in "does not run on".
        advice: what to do about it.

    Raises:
        ModelError: there was an error.
    """
    try:
        yield
    except RuntimeError as error:
        text = without_positions(error)[:300].rstrip(". ")
        raise ModelError(f"the model {fails} the CPU in f32, which every check needs: {text}; {advice}") from error


def failure(kind: ErrorKind, error: Exception) -> Measurement:
    """Return an error as a measurement.

    Args:
        kind: its kind, unless memory was exhausted.
        error: what was raised.
    """
    found = ErrorKind.MEMORY if isinstance(error, MemoryError) else kind_of(str(error), kind)
    return Measurement.failed(found, without_positions(error))
