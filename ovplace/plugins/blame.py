"""Errors in plug-ins of other packages: their authors are told of them, which is not an internal error of ovplace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ovplace.errors import OvplaceError, UsageError


@contextmanager
def blaming(plugin: type, what: str) -> Iterator[None]:
    """Name a plug-in in whatever error it raises while a block runs, unless the plug-in is one of ovplace's own.

    Args:
        plugin: its class.
        what: its role and name, such as `the placer 'mine.shuffle'`.

    Raises:
        UsageError: it raised an error that is not one of ovplace's.
    """
    try:
        yield
    except (OvplaceError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        module = plugin.__module__
        if module.startswith("ovplace."):
            raise
        raise UsageError(
            f"{what} failed: {type(error).__name__}: {error}; correct {module} (--debug shows the line)"
        ) from error
