"""A backend whose machine does what a file in its cache folder says: be slower by a factor, or hang."""

from __future__ import annotations

import time
from dataclasses import replace

from ovplace.store.cache import cache_folder
from ovplace.testing import fake_backend
from ovplace.testing.fake_backend import Config

__all__ = ["Backend", "Config"]

SUMMARY = "computed latencies, of a machine that a file describes"
MOOD = "mood"
"""The file: `hang` for all placements on several devices, or the factor by which the machine is slower."""


class Backend(fake_backend.Backend):
    """Answers by a formula."""

    def measure(self, candidates, spec):
        path = cache_folder() / MOOD
        mood = path.read_text() if path.exists() else "1"
        if mood == "hang" and any(c.placement is not None and not c.placement.is_uniform for c in candidates):
            time.sleep(600)
        factor = float(mood) if mood != "hang" else 1.0
        found = super().measure(candidates, spec)
        return [replace(m, samples_ms=tuple(factor * ms for ms in m.samples_ms)) for m in found]


def install(folder):
    """Make a folder that installs this backend as `box` for processes that have it on their path."""
    metadata = folder / "box-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: box\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[ovplace.backends]\nbox = {__name__}\n")
