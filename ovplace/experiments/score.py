"""The score of a finished run: numbers that can be compared between runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ovplace.atomic import write_json
from ovplace.config.schema import RunConfig
from ovplace.core.measurement import Job
from ovplace.core.result.run_result import RunResult
from ovplace.core.text.json_text import parse_json
from ovplace.cost.evaluate.effective_devices import effective_devices, split_mixed_groups
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.errors import StoreError
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.search.completed_run import CompletedRun, open_completed_run
from ovplace.session.devices import choose_devices
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class RunScore:
    """Quality of a run's answer.

    Attributes:
        latency_ms: of the answer; without noise where the backend knows it, else the median of the final comparison.
        to_single: the same over that of the best single device. Measured runs: ratios of candidates that took turns.
        found_to_single: the best placement that is no baseline, over the best single device, whether or not it became
            the answer: without noise of all that were measured, else as the final comparison measured the one it had;
            None where there is no such placement.
        noise_free: whether the latencies are the backend's own, without noise; else they were measured.
    """

    latency_ms: float
    to_single: float
    found_to_single: float | None
    noise_free: bool


def search_and_score(config: RunConfig, folder: Path, _: Mapping[str, object]) -> None:
    """Run, or continue, one search in `folder`, and leave its score there.

    Args:
        config: configuration of the run.
        folder: the run folder.
        _: extra settings of the cell; a search has none.

    Raises:
        OvplaceError: the search failed; the text says why.
    """
    from ovplace.search.run import run

    # A finished run that goes on with a larger budget is not finished until it is scored anew.
    RunFolder(folder).score.unlink(missing_ok=True)
    run(config, folder, command="ovplace ablate")
    score(folder)


def score(folder: Path) -> RunScore:
    """Return the score of a finished run, and leave it in its folder; written last, it says that the run is finished.

    Raises:
        OvplaceError: the run cannot be read.
    """
    run = open_completed_run(folder)
    found = _without_noise(run, measured_score(run.result))
    write_json(run.folder.score, dataclasses.asdict(found))
    return found


def read_score(folder: Path) -> RunScore | None:
    """Return the score that a run folder holds, None if the run is not finished.

    Raises:
        StoreError: the file is damaged.
    """
    path = RunFolder(folder).score
    try:
        return RunScore(**parse_json(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"cannot read '{path}': {error}; delete it and run the command again") from error


def measured_score(result: RunResult) -> RunScore:
    """Return the score by what was measured.

    The final comparison's ratio is to the best baseline. That one and the single devices have ratios to the run's
    reference, measured at the beginning: the fastest single device, unless the run began with another one.
    """
    verdict, latency = result.verdict, result.best.latency_ms
    to_reference = result.baseline(verdict.against).ratio
    assert latency is not None and to_reference is not None, "an answer has a latency"
    single = min(b.ratio for b in result.baselines if b.name in result.device_names and b.ratio is not None)
    against = to_reference / single
    found = verdict.ratio.value * against if verdict.ratio else None
    kept = found if found is not None and result.is_faster else against
    return RunScore(latency.value, kept, found, noise_free=False)


def _without_noise(run: CompletedRun, score: RunScore) -> RunScore:
    """Return `score` with the answer's latency by what the backend answers from, as it is where it measures."""
    backend = run.config.plugins.backend
    if not (backend.factory.simulated and backend.factory.knows_costs):
        return score
    job = Job(
        model_path=str(run.folder.prepared_model.resolve()),
        devices=choose_devices(run.config).devices,
        seed=run.config.search.seed,
        options=backend.options,
    )
    simulation, n = backend.factory(job), len(run.graph)
    alone = [np.full(n, d) for d in range(len(run.devices)) if _works(run.result, run.devices[d])]
    best_ms = _latency_ms(run, simulation, run.answer.indices(run.devices))
    single_ms = min(_latency_ms(run, simulation, device_of) for device_of in alone)
    found_ms = _found_ms(run, simulation)
    found = None if found_ms is None else found_ms / single_ms
    return RunScore(best_ms, best_ms / single_ms, found, noise_free=True)


def _works(result: RunResult, device: str) -> bool:
    return any(baseline.name == device and baseline.latency_ms for baseline in result.baselines)


def _found_ms(run: CompletedRun, backend: Any) -> float | None:
    """Return the least latency of the placements on several devices that were measured and ran."""
    from ovplace.ir.legal.groups import legal_groups

    with closing(run.folder.open_store()) as store:
        ran = [trial.placement for trial in store.trials() if isfinite(trial.ratio)]
    mixed = [placement.indices(run.devices) for placement in ran if not placement.is_uniform]
    if not mixed:
        return None
    legal = legal_groups(run.graph)
    latencies: FloatArray = latency_ms(backend.costs(legal), legal.lower(np.stack(mixed)))
    return float(latencies.min())


def _latency_ms(run: CompletedRun, backend: Any, device_of: IntArray) -> float:
    """Return the latency of a placement of operations `[N]`; HETERO's own choice may tear a group apart."""
    from ovplace.ir.legal.groups import legal_groups

    partition, chosen = split_mixed_groups(legal_groups(run.graph), effective_devices(run.graph, device_of))
    found: FloatArray = latency_ms(backend.costs(partition), chosen[None])
    return float(found[0])
