"""Arrays by name in an `.npz` archive."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, EOFError, NotImplementedError, RuntimeError, OverflowError,
    MemoryError, struct.error, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What numpy and zipfile raise while they read a file that is something else, or damaged."""


def write_arrays(target: Path, arrays: Mapping[str, ArrayLike]) -> None:
    """Write an archive whose bytes depend on the arrays alone.

    `np.savez` takes the names as keyword arguments, so that none may be called `file`.

    Args:
        target: the file; one that is there is replaced.
        arrays: by name.

    Raises:
        OSError: it cannot be written.
        ValueError: an array holds Python objects.
    """
    with zipfile.ZipFile(target, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive by name.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no archive of arrays, or is damaged; the text says why in one line.
    """
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is not an .npz archive, or is cut off")
            with np.lib.npyio.NpzFile(file) as archive:  # `np.load` takes other files for pickled objects
                found = {name: archive[name] for name in archive.files}
    except DAMAGE as error:
        said = str(error).splitlines()
        raise ValueError(said[0] if said else type(error).__name__) from error
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}  # else bytes of a text
