"""Ctrl-C, SIGTERM and SIGHUP stop a command alike: what was measured is saved, and the exit code says which it was."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

PATIENCE_S = 3.0
"""Saving takes up to a second. Signals come in pairs (a closed terminal sends SIGHUP, its shell another; people press
Ctrl-C twice), so one that follows sooner than this is ignored, and a later one ends the process at once."""

_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


class Stopped(KeyboardInterrupt):
    """A signal that stops the command; everything that handles Ctrl-C handles it."""

    def __init__(self, number: int) -> None:
        """Keep the number of the signal."""
        super().__init__(number)
        self.exit_code = 128 + number


def _raise_stopped(number: int) -> None:
    raise Stopped(number)


@dataclass
class _Handler:
    stop: Callable[[int], None]
    first: float | None = None
    number: int = 0

    def __call__(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self.number = now, number
            self.stop(number)
        elif now - self.first > PATIENCE_S:
            from ovplace.measuring.children import kill_all

            kill_all()
            os._exit(128 + number)


@contextmanager
def stopping_by_signals(stop: Callable[[int], None] = _raise_stopped) -> Iterator[None]:
    """Raise `Stopped` in what runs inside at the first of these signals; those ignored, as by `nohup`, stay ignored.

    Args:
        stop: is called with the number of the signal instead.

    Raises:
        Stopped: by the first signal.
    """
    handler = _Handler(stop)
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    except Exception as error:
        if handler.number and stop is _raise_stopped and _is_failed_import(error):
            raise Stopped(handler.number) from error
        raise
    finally:
        # Where it was stopped, the process is about to end: the second of a pair may still come, even after Python has
        # taken its own handlers down.
        was_stopped = handler.first is not None
        for number, old in before.items():
            if signal.getsignal(number) is handler:  # otherwise one inside was stopped, and ignores what follows
                signal.signal(number, signal.SIG_IGN if was_stopped else old)


def _is_failed_import(error: BaseException | None) -> bool:
    """Return whether an error is, or was made of, one of an import.

    Initialising a module of C code replaces any exception, and so that of a signal, by an ImportError of its own.
    """
    while error is not None and not isinstance(error, ImportError | Stopped):
        error = error.__cause__ or error.__context__
    return isinstance(error, ImportError)


def exit_code_of(error: BaseException | None) -> int | None:
    """Return the exit code of the signal that an error, or what led to it, tells of; None if it tells of none."""
    while error is not None and not isinstance(error, Stopped):
        error = error.__cause__ or error.__context__
    return error.exit_code if error else None
