"""A backend whose machine does what files in its cache folder say: be slower by a factor, hang once, or rest."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

from ovplace.store.cache import cache_folder
from ovplace.testing import fake_backend
from ovplace.testing.fake_backend import Config

__all__ = ["Backend", "Config"]

SUMMARY = "computed latencies, of a machine that files describe"
MOOD = "mood"
"""The file with the factor by which the machine is slower, or `hang`: never answer the next request with a placement on
several devices, and have no mood after that."""
REST = "rest"
"""The file with the number of such requests that are answered; the machine rests before the next one as long as the
file is there."""
RESTS = "rests"
"""The file that is there once it rests."""


class Backend(fake_backend.Backend):
    """Answers by a formula."""

    answered: ClassVar[int] = 0

    def measure(self, candidates, spec):
        if any(c.placement is not None and not c.placement.is_uniform for c in candidates):
            self._rest()
            if read(MOOD) == "hang":
                (cache_folder() / MOOD).unlink()
                time.sleep(600)
            Backend.answered += 1
        factor = 1.0 if (mood := read(MOOD)) in ("", "hang") else float(mood)
        found = super().measure(candidates, spec)
        return [replace(m, samples_ms=tuple(factor * ms for ms in m.samples_ms)) for m in found]

    def _rest(self):
        while (limit := read(REST)) and Backend.answered >= int(limit):
            (cache_folder() / RESTS).touch()
            time.sleep(0.01)


def read(name):
    """Return what a file of this machine says; nothing if it is not there."""
    try:
        return (cache_folder() / name).read_text()
    except FileNotFoundError:
        return ""


def write(folder, name, text):
    """Let a file of the machine with this cache folder say something, from one moment to the next."""
    folder.mkdir(exist_ok=True)
    (folder / "new").write_text(text)
    (folder / "new").replace(folder / name)


def install(folder):
    """Make a folder that installs this backend as `box` for processes that have it on their path."""
    metadata = folder / "box-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: box\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[ovplace.backends]\nbox = {__name__}\n")
