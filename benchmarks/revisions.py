"""Searches by other revisions of ovplace, for benchmarks that compare revisions."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.script import ROOT, UnavailableError
from benchmarks.sessions import EMULATED_GPU, saved_model

NO_LIMIT = 1_000_000
"""Placements that no search measures; a revision may have a limit of its own where none is given."""


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Yield a folder with the files of a revision of this repository.

    Raises:
        UnavailableError: the repository does not have the revision.
    """
    archive = subprocess.run(["git", "-C", ROOT.parent, "archive", revision], capture_output=True, check=False)
    if archive.returncode:
        raise UnavailableError(f"no revision {revision} here: {archive.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


def searched_by(checkout: Path, model: str, folder: Path, time_s: float) -> None:
    """Search for a placement on the CPU and the emulated GPU with the command line of a revision.

    Args:
        checkout: files of the revision.
        model: name of a recipe, or a model file.
        folder: of the run; there is none of that name yet.
        time_s: limit in seconds, of what the revision limits by `--time`.
    """
    path = saved_model(model, folder.with_suffix(".xml")).absolute()
    limits = ["--time", f"{time_s:g}s", "--budget", str(NO_LIMIT)]
    arguments = ["optimize", str(path), "-d", EMULATED_GPU, "--emulate-gpu", *limits, "--output", str(folder)]
    command = [sys.executable, "-c", "from ovplace.cli import main; main()", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(command, cwd=checkout, env=environment, check=True, stdout=subprocess.DEVNULL)
