"""Time of the command line for common commands, in seconds.

The median over several processes; a model is built once.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.report import Row
from benchmarks.timing import median_s

COMMAND = (sys.executable, "-c", "from ovplace.cli import main; main()")


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        model: recipe that is built and inspected.
        repeats: processes of each command.
    """

    model: str = "inception-v3"
    repeats: int = 5


SHORT = Options(model="demo", repeats=1)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each command."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / f"{options.model}.xml")
        commands = (
            (["--help"], options.repeats),
            (["--version"], options.repeats),
            (["devices"], options.repeats),
            (["models", "build", options.model, "-o", folder], 1),
            (["inspect", model], options.repeats),
        )
        for arguments, repeats in commands:
            said = "ovplace " + " ".join(arguments).replace(folder, "DIR")
            yield {"command": said, "seconds": median_s(partial(_run, arguments), repeats)}


def _run(arguments: list[str]) -> None:
    subprocess.run([*COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
