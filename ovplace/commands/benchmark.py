"""A finished placement beside its baselines, each run for a while as OpenVINO's benchmark_app runs a model."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf
from pathlib import Path
from statistics import fmean

from ovplace.atomic import atomic_write
from ovplace.commands.output_folder import writing_into
from ovplace.commands.run_inputs import with_inputs
from ovplace.core.device import Device
from ovplace.errors import OvplaceError, UsageError
from ovplace.ir.timing.requests import LayerTime, Load, RequestTimes, time_requests
from ovplace.measuring.isolated_call import isolated_call
from ovplace.session.events import Listener, Progress
from ovplace.store.device_lock import for_search
from ovplace.store.run_folder import RunFolder

PLACEMENT = "the placement"
"""Name of the run's answer among the candidates."""

ELSEWHERE = "choose another -report_folder"
"""What to do where no reports can be written."""

_TITLES = {
    "cmd_options": "Command line parameters",
    "configuration_setup": "Configuration setup",
    "execution_results": "Execution results",
}
"""Title in benchmark_app's CSV of each section of its JSON."""


@dataclass(frozen=True)
class Benchmarked:
    """One candidate of a benchmark.

    Attributes:
        name: name of a baseline, or `PLACEMENT`.
        target: the device string that it was compiled for; empty for the placement.
        times: the times measured; None where it failed.
        error: why it failed; empty otherwise.
    """

    name: str
    target: str
    times: RequestTimes | None
    error: str = ""

    def percentile_ms(self, percent: int) -> float:
        """Return a percentile of the latencies as benchmark_app computes it, in ms."""
        assert self.times is not None
        latencies = self.times.latencies_ms
        return latencies[ceil(len(latencies) * percent / 100) - 1]

    @property
    def throughput(self) -> float:
        """Inferences a second."""
        assert self.times is not None
        return len(self.times.latencies_ms) * 1e3 / self.times.duration_ms


def benchmark(folder: Path, load: Load, listener: Listener, input_path: str = "") -> list[Benchmarked]:
    """Run each competing baseline of a run, and its placement, one after another, each in a process of its own.

    Args:
        folder: a finished run.
        load: how to run them; the inputs are added here.
        listener: is called with each step.
        input_path: `.npz` file with one array for each input; empty for the inputs of the run.

    Raises:
        PlacementError: there is no finished run.
        UsageError: the run is simulated, or the inputs are not there.
    """
    run = RunFolder(folder)
    run.check_finished()
    result = run.read_result()
    if result.environment.simulated:
        raise UsageError(
            f"'{folder}' is a run on the simulated machine {result.environment.simulated}, which runs no inferences"
        )
    search = with_inputs(run.read_config(), input_path).search
    load = replace(load, input_path=search.input, seed=search.seed)
    wanted = [(b.name, b.name.removesuffix(" (automatic)")) for b in result.baselines if b.competes and not b.error]
    wanted.append((PLACEMENT, ""))
    devices = tuple(Device(d.name, d.base, d.properties, emulated=d.emulated) for d in result.devices)
    found, working_s = [], inf if load.n_iterations else load.time_s
    with for_search():
        for number, (name, target) in enumerate(wanted):
            listener(Progress("benchmark", number, len(wanted), name))
            time_it = partial(
                isolated_call, f"running {name}", time_requests, folder, devices, target, load, working_s=working_s
            )
            found.append(_benchmarked(name, target, time_it))
    listener(Progress("benchmark", len(wanted), len(wanted)))
    return found


def _benchmarked(name: str, target: str, time_it: Callable[[], RequestTimes]) -> Benchmarked:
    try:
        return Benchmarked(name, target, time_it())
    except OvplaceError as error:
        return Benchmarked(name, target, None, str(error))


@dataclass(frozen=True)
class BenchmarkCall:
    """A benchmark as it was asked for.

    Attributes:
        load: how the candidates are run.
        percent: the percentile that is reported as the latency.
        options: options as they were given.
    """

    load: Load
    percent: int
    options: Mapping[str, str]


def report(one: Benchmarked, asked: BenchmarkCall) -> dict[str, dict[str, object]]:
    """Return the statistics of one candidate in the sections and with the keys of benchmark_app's report.

    Args:
        one: the candidate, which must have run.
        asked: the benchmark that it is of.
    """
    times, load, percent = one.times, asked.load, asked.percent
    assert times is not None
    latency_key = "latency (ms)" if percent == 50 else f"latency ({percent} percentile) (ms)"
    return {
        "cmd_options": dict(asked.options),
        "configuration_setup": {
            "target device": one.target or one.name,
            "API": load.api,
            "number of iterations": str(load.n_iterations),
            "number of parallel infer requests": str(times.n_requests),
            "duration (ms)": str(round(load.time_s * 1e3)),
        },
        "execution_results": {
            "read model time (ms)": f"{times.read_ms:.2f}",
            "compile model time (ms)": f"{times.compile_ms:.2f}",
            "first inference time (ms)": f"{times.first_ms:.2f}",
            "total execution time (ms)": f"{times.duration_ms:.2f}",
            "total number of iterations": str(len(times.latencies_ms)),
            latency_key: f"{one.percentile_ms(percent):.2f}",
            "avg latency": f"{fmean(times.latencies_ms):.2f}",
            "min latency": f"{times.latencies_ms[0]:.2f}",
            "max latency": f"{times.latencies_ms[-1]:.2f}",
            "throughput": f"{one.throughput:.2f}",
        },
    }


def write_reports(into: Path, found: Sequence[Benchmarked], asked: BenchmarkCall, *, as_json: bool) -> list[Path]:
    """Write a report of each candidate that ran, and its layers' times where they were counted.

    Args:
        into: the folder, which is made.
        found: the candidates.
        asked: the benchmark that they are of.
        as_json: JSON, not CSV with semicolons.

    Raises:
        StoreError: a file cannot be written.
    """
    written = []
    with writing_into(into, ELSEWHERE):
        into.mkdir(parents=True, exist_ok=True)
        for one in found:
            if one.times is None:
                continue
            name = re.sub(r"\W+", "_", one.name).strip("_")
            said = report(one, asked)
            texts = {"report": _json(said) if as_json else _csv(_rows(said))}
            if layers := one.times.layers:
                texts["average_counters_report"] = _json(_counters(layers)) if as_json else _csv(_counted(layers))
            for kind, text in texts.items():
                path = into / f"benchmark_{kind}_{name}.{'json' if as_json else 'csv'}"
                atomic_write(path, text)
                written.append(path)
    return written


def _json(table: Mapping[str, object]) -> str:
    return json.dumps(table, indent=2) + "\n"


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def _rows(said: Mapping[str, Mapping[str, object]]) -> Iterator[Sequence[object]]:
    for section, table in said.items():
        yield [_TITLES[section]]
        yield from table.items()
        yield []


def _counters(layers: Sequence[LayerTime]) -> dict[str, object]:
    nodes = [
        {"name": one.name, "node_type": one.node_type, "status": f"Status.{one.status}"}
        | {"real_time": f"{one.real_ms:.3f}", "cpu_time": f"{one.cpu_ms:.3f}", "exec_type": one.exec_type}
        for one in layers
    ]
    real, cpu = _totals(layers)
    return {
        "report_type": "average",
        "avg_performance": {"nodes": nodes, "total_real_time": real, "total_cpu_time": cpu},
    }


def _counted(layers: Sequence[LayerTime]) -> Iterator[Sequence[object]]:
    yield "layerName", "execStatus", "layerType", "execType", "realTime (ms)", "cpuTime (ms)"
    for one in layers:
        times = (f"{one.real_ms:.3f}", f"{one.cpu_ms:.3f}")
        yield one.name, f"Status.{one.status}", one.node_type, one.exec_type, *times
    yield "Total", "", "", "", *_totals(layers)


def _totals(layers: Sequence[LayerTime]) -> tuple[str, str]:
    return f"{sum(one.real_ms for one in layers):.3f}", f"{sum(one.cpu_ms for one in layers):.3f}"
