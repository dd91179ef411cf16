"""Runs of which something fails: what they are compared with, and the columns that say what became of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import openvino as ov

from benchmarks.report import Row
from ovplace.testing.faults.failing_runs import Failed, Whole, short, whole
from ovplace.testing.faults.striking import Setting
from ovplace.testing.models import TINY


@contextmanager
def short_run() -> Iterator[tuple[Setting, Whole]]:
    """Yield the setting of a run of three trials with computed latencies, and what comes of it where nothing fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ov.save_model(TINY["residual"](), folder / "tiny.xml", compress_to_fp16=False)
        setting = short(Setting(folder / "tiny.xml", folder))
        yield setting, whole(setting.at("whole"))


def columns(found: Sequence[Failed]) -> Row:
    """Return how many runs there were, how they ended, and what was wrong."""
    wrong = [f"{failed.what}: {failed.wrong}" for failed in found if failed.wrong]
    return {
        "tried": len(found),
        "ended": sum(not failed.code for failed in found),
        "one line": sum(failed.code != 0 and not failed.crashed for failed in found),
        "crashed": sum(failed.crashed for failed in found),
        "right": len(found) - len(wrong),
        "wrong": "; ".join(wrong) or "nothing",
    }
