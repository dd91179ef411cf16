"""Prints, as JSON, how long the command line takes to say something, in seconds: the median of several processes."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_COMMAND = [sys.executable, "-c", "from ovplace.cli import main; main()"]


def _seconds(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run([*_COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def _median(repeats: int, *arguments: str) -> float:
    return round(statistics.median(_seconds(*arguments) for _ in range(repeats)), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        building = _seconds("models", "build", "inception-v3", "-o", folder)
        found = {
            "help_s": _median(repeats, "--help"),
            "version_s": _median(repeats, "--version"),
            "devices_s": _median(repeats, "devices"),
            "build_inception_v3_s": round(building, 3),
            "inspect_inception_v3_s": _median(repeats, "inspect", str(Path(folder) / "inception-v3.xml")),
            "repeats": repeats,
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
