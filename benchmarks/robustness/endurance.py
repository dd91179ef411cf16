"""Long searches: memory, open files, threads and overhead over thousands of measurements.

A random search on a chain of 14 operations, on a simulated machine and with OpenVINO on the CPU under two names.
`first`: the median over the second tenth of the measurements, as the first one loads libraries. `last`: over the last
tenth. Memory is what is resident; a measuring process is replaced after 400 requests. `overhead`: time from one
measurement to the next in which the runtime neither compiled nor inferred.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from benchmarks.report import Row
from ovplace.api.run import Run
from ovplace.api.searching import optimize
from ovplace.measuring.children import running_pids
from ovplace.session.events import Progress


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        simulated: measurements on a simulated machine; 0 for none.
        real: measurements with OpenVINO; likewise.
    """

    simulated: int = 5000
    real: int = 5000


SHORT = Options(simulated=30, real=0)

_WHERE = {
    "simulated": {"machine": "i9-12900k+flex170"},
    "real": {"device": "CPU_A=CPU{INFERENCE_PRECISION_HINT:f32},CPU{INFERENCE_PRECISION_HINT:f32}"},
}
_QUICK = (
    "measure.warmup=0", "measure.blocks=1", "measure.repeats=1", "measure.min_time_ms=0",
    "comparison.rounds=2", "comparison.blocks=3", "comparison.repeats=1", "comparison.min_time_ms=0",
    "comparison.race=4", "comparison.null_control=false",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Process:
    """What a process holds.

    Attributes:
        mib: resident memory.
        files: open file descriptors.
        threads: their number.
    """

    mib: float
    files: int
    threads: int

    @classmethod
    def of(cls, pid: int) -> _Process:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return cls(int(status["VmRSS"].split()[0]) / 1024, files, int(status["Threads"]))


@dataclass
class _Watch:
    """Looks at the processes after each measurement.

    Attributes:
        at_s: when, on the monotonic clock.
        parent: this process.
        child: the measuring process; the last one seen where there was none just then.
    """

    at_s: list[float] = field(default_factory=list)
    parent: list[_Process] = field(default_factory=list)
    child: list[_Process] = field(default_factory=list)

    def __call__(self, event: Progress) -> None:
        if event.phase == "search" and event.done == len(self.at_s) + 1:
            self.at_s.append(time.monotonic())
            self.parent.append(_Process.of(os.getpid()))
            self.child.append(_children() or self.child[-1])


def _children() -> _Process | None:
    """Return the largest measuring process; None where one has just ended."""
    try:
        return max((_Process.of(pid) for pid in running_pids()), key=lambda process: process.mib, default=None)
    except OSError:
        return None


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each kind of search."""
    budgets = {"simulated": options.simulated, "real": options.real}
    for kind in (kind for kind, budget in budgets.items() if budget):
        with tempfile.TemporaryDirectory() as name:
            model, watch = Path(name) / "chain.xml", _Watch()
            ov.save_model(_chain(), model, compress_to_fp16=False)
            given: dict[str, Any] = {"placer": "random", "coarsener": "none", "budget": budgets[kind], **_WHERE[kind]}
            run = optimize(model, Path(name) / "run", settings=_QUICK, listener=watch, **given)
            row = {"latencies": kind, "measurements": len(watch.at_s), **_figures(run, watch)}
            print(row, file=sys.stderr)
            yield row


def _chain() -> ov.Model:
    x = ops.parameter([1, 64], np.float32, name="x")
    node = ops.relu(x)
    for number in range(13):
        node = ops.sin(node) if number % 2 else ops.softmax(node, 1)
    return ov.Model([ops.result(node)], [x])


def _figures(run: Run, watch: _Watch) -> Row:
    runtime_ms = [
        sum(float(trial.measurement.facts.get(key, 0)) for key in ("compiling_ms", "inferring_ms"))
        for trial in run.trials
        if not trial.cached
    ]
    overhead_ms = 1e3 * np.diff(watch.at_s) - np.array(runtime_ms)[1:]
    figures: dict[str, Sequence[float]] = {
        "parent MiB": [process.mib for process in watch.parent],
        "parent files": [process.files for process in watch.parent],
        "parent threads": [process.threads for process in watch.parent],
        "child MiB": [process.mib for process in watch.child],
        "child files": [process.files for process in watch.child],
        "child threads": [process.threads for process in watch.child],
        "overhead ms": overhead_ms.tolist(),
    }
    return {name: _first_and_last(values) for name, values in figures.items()}


def _first_and_last(values: Sequence[float]) -> str:
    tenth = max(1, len(values) // 10)
    first, last = np.median(values[tenth : 2 * tenth]), np.median(values[-tenth:])
    return f"{first:.4g}, last {last:.4g}"
