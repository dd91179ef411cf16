"""A finished run to try reports on, of a synthetic graph, without OpenVINO and without files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ovplace.config.schema import RunConfig
from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.graphs.op_graph import OpGraph
from ovplace.report.evidence import Evidence
from ovplace.search.completed_run import CompletedRun
from ovplace.seeds import generator
from ovplace.store.run_folder import RunFolder
from ovplace.testing.graphs import layered, problem
from ovplace.testing.results import LATENCY, baseline_summary, run_result

DEVICES = ("GPU", "CPU")


def evidence(graph: OpGraph | None = None, segments: int = 3, group: int = 4, **changes: Any) -> Evidence:
    """Return a run whose answer has alternating segments of groups on the CPU and on the GPU.

    Args:
        graph: the model; a random one of 80 operations by default.
        segments: their number.
        group: operations in each group.
        **changes: parts of the `RunResult` to replace.
    """
    graph = graph or layered(80, seed=1)
    partition = Partition.from_labels(graph.rank // group)
    answer = _alternating(partition, segments)
    trials = [_trial(i, _alternating(partition, 1 + i), 1.2 - 0.1 * i) for i in range(5)]
    failure = Measurement.failed(ErrorKind.COMPILE, "no kernel for <b>this</b>")
    trials.append(Trial(5, _alternating(partition, 7), failure, float("inf"), "cut"))
    baselines = (
        baseline_summary("CPU", final_latency_ms=LATENCY),
        baseline_summary("GPU", ratio=1.5, final_latency_ms=LATENCY),
    )
    found = replace(run_result().best, hash=trials[4].placement.hash)
    finals = {name: (_measured(5.0), _measured(5.2)) for name in ("CPU", "GPU", "trial 4")}
    run = CompletedRun(
        folder=RunFolder(Path("run")),
        config=RunConfig(),
        graph=graph,
        partition=partition,
        result=run_result(**{"baselines": baselines, "found": found, **changes}),
        answer=answer,
    )
    return Evidence(run, tuple(trials), {}, finals, problem(graph, partition=partition).costs)


def _alternating(partition: Partition, segments: int) -> Placement:
    groups = np.arange(partition.n_groups)
    return partition.lift((groups * segments // partition.n_groups + 1) % 2, DEVICES)


def _measured(ms: float) -> Measurement:
    samples = tuple((ms + generator(0, "report", str(ms)).normal(0, 0.1, 6)).tolist())
    return Measurement(samples, (3, 3))


def _trial(number: int, placement: Placement, ratio: float) -> Trial:
    return Trial(number, placement, _measured(5.0 * ratio), ratio, "cut" if number % 2 else "local_search")
