"""Folders that results are written into: what cannot be written is told before the time of finding it is spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from ovplace.errors import StoreError


@contextmanager
def writing_into(folder: Path, advice: str) -> Iterator[None]:
    """Let what fails to be written inside end in one line.

    Args:
        folder: where it is written.
        advice: what to do where that fails.

    Raises:
        StoreError: something cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot write into '{folder}': {error.strerror}; {advice}") from error


def check_folder(folder: Path, advice: str) -> None:
    """Make a folder, and check that files can be written into it.

    Args:
        folder: it need not exist.
        advice: what to do where that fails.

    Raises:
        StoreError: it cannot be made, or takes no files.
    """
    with writing_into(folder, advice):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
