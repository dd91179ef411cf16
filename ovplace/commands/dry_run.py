"""The estimate of a run: its steps, and roughly its time."""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from ovplace.config.schema import RunConfig
from ovplace.devices.select import Selection, references
from ovplace.measuring.isolated_call import isolated_call
from ovplace.profiling.parts import PART_S
from ovplace.session.devices import choose_devices
from ovplace.session.fitting import inferring_s
from ovplace.session.prepare import prepare_model
from ovplace.session.problem import form_groups
from ovplace.session.session import check_settings
from ovplace.session.site import open_site
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    from ovplace.ir.timing.once import FirstTiming


@dataclass(frozen=True)
class Estimate:
    """A run that has not begun.

    Attributes:
        operations: of the prepared model.
        groups: placed as one each.
        devices: their names.
        note: what there is to know about the choice of devices.
        baselines: number of baselines.
        placements: measured in the search, at most; None for as many as the time allows.
        finalists: placements that take turns when one of those found is chosen.
        race: measurements of that, at most.
        rounds: fresh processes of the final comparison.
        compared: candidates in each round; more where several baselines are nearly as fast as the best one.
        seconds: rough wall time, at most the limit of the call.
        basis: how that was estimated.
    """

    operations: int
    groups: int
    devices: tuple[str, ...]
    note: str
    baselines: int
    placements: int | None
    finalists: int
    race: int
    rounds: int
    compared: int
    seconds: float
    basis: str


@dataclass(frozen=True)
class _Steps:
    """What a run measures, as in `Estimate`; only the baselines where there is nothing to search."""

    baselines: int
    placements: int | None = 0
    finalists: int = 0
    race: int = 0
    rounds: int = 0
    compared: int = 0


def estimate(config: RunConfig) -> Estimate:
    """Return what `run` would do; the model is prepared in a temporary folder, no device is measured.

    Raises:
        OvplaceError: what `run` would raise about the configuration, the model or the devices.
    """
    check_settings(config)
    with tempfile.TemporaryDirectory() as temporary:
        folder = RunFolder(Path(temporary))
        start = time.monotonic()
        graph = prepare_model(config, folder)
        preparing_s = time.monotonic() - start
        selection = _devices(config)
        groups = form_groups(config, graph).n_groups
        timed = None if selection.simulated else _timed(folder.prepared_model, config)
    steps = _steps(config, selection, groups)
    seconds = preparing_s * (2 + steps.rounds)
    if timed:
        seen, starting_s = timed
        parts = groups * len(selection.devices)
        seconds = preparing_s + starting_s * (1 + steps.rounds) + _measuring_s(config, steps, parts, seen)
    return Estimate(
        operations=len(graph),
        groups=groups,
        devices=tuple(device.name for device in selection.devices),
        note=selection.note,
        seconds=min(seconds, config.search.time_s or inf),
        basis=_basis(timed[0]) if timed else _SIMULATED,
        **asdict(steps),
    )


def _devices(config: RunConfig) -> Selection:
    """Return the devices of a run; a fleet is asked for those of its machines."""
    if not config.search.cluster:
        return choose_devices(config)
    with closing(open_site(config)) as site:
        return site.choose_devices(config)


def _timed(prepared: Path, config: RunConfig) -> tuple[FirstTiming, float]:
    """Return what the CPU takes for a model, and the seconds that a process takes besides until it can measure."""
    from ovplace.ir.timing.once import time_once

    start = time.monotonic()
    search = config.search
    seen = isolated_call("running the model on the CPU", time_once, prepared, search.seed, search.input)
    return seen, max(0.0, time.monotonic() - start - seen.compiling_s - 2 * seen.inferring_s)


def _steps(config: RunConfig, selection: Selection, groups: int) -> _Steps:
    """Return the steps of a run; one device or one group leaves nothing to search."""
    n, alone = len(selection.devices), len(references(selection.devices))
    baselines = n + alone + (n + 1 if n > 1 else 0)
    if n < 2 or groups < 2:
        return _Steps(baselines)
    comparison = config.comparison
    compared = 2 + alone + int(comparison.null_control and not selection.simulated)
    placements = config.search.measurements
    return _Steps(baselines, placements, comparison.finalists, comparison.race, comparison.rounds, compared)


_SIMULATED = (
    "from the time to prepare the model, once for each process; a simulated machine runs nothing, and the time of the "
    "placer is not known"
)


def _basis(seen: FirstTiming) -> str:
    return (
        f"from one compilation ({seen.compiling_s:.2f} s) and one inference ({seen.inferring_s * 1e3:.1f} ms) on "
        "the CPU here, as if every placement took as long; compiling for a GPU takes several times as long"
    )


def _measuring_s(config: RunConfig, steps: _Steps, parts: int, seen: FirstTiming) -> float:
    """Return the time of profiling and of all compilations and inferences; each placement takes turns with a reference.

    Args:
        config: of the run.
        steps: what it measures.
        parts: groups times devices.
        seen: what the CPU takes for the model.
    """
    if steps.placements is None:
        return inf
    specs = config.measure.of_trial(), config.measure, config.round_spec
    trial_s, once_s, round_s = (inferring_s(seen.inferring_s, spec) for spec in specs)
    searching_s = steps.placements * (seen.compiling_s + 2 * trial_s)
    baselines_s = steps.baselines * (seen.compiling_s + 2 * once_s)
    racing_s = steps.race * (seen.compiling_s + once_s)
    comparing_s = steps.rounds * steps.compared * (seen.compiling_s + round_s)
    return _profiling_s(config, steps, parts) + searching_s + baselines_s + racing_s + comparing_s


def _profiling_s(config: RunConfig, steps: _Steps, parts: int) -> float:
    """Return the time of measuring each group on each device, and as many pairs; 0 where nobody needs costs."""
    is_needed = steps.placements and config.plugins.placer.needs_costs()
    return min(config.profiling.budget_s, 2 * parts * PART_S) if is_needed else 0.0
