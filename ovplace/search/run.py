"""A whole run: set up, baselines, search, duel, files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from ovplace.config import toml
from ovplace.config.schema import RunConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Trial
from ovplace.errors import ConfigError, InterruptedRunError, StoreError
from ovplace.plugins import registry
from ovplace.profiling.obtain import Costs, obtain_costs
from ovplace.search.final_comparison import decide
from ovplace.search.loop import Budget, Loop
from ovplace.search.placed import write_placed
from ovplace.search.result import Data, Outcome, to_data, write_json
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.events import Listener, silent
from ovplace.session.measurer import Measurer
from ovplace.session.model_fingerprint import fingerprint
from ovplace.session.session import CONFIG, Session, check_settings, open_session
from ovplace.store.run_db import RunStore

F32_LIMIT = 1e-3
"""Relative output error that a placement on f32 devices may have where the user sets none. Two correct f32
implementations of the benchmark models differ by 3e-4 at most; a faulty kernel is off by the signal itself."""

_MAY_CHANGE = ("budget", "time_s", "require_gain")


def run(config: RunConfig, folder: Path, listener: Listener = silent, command: str = "") -> Data:
    """Run, or continue, a search in `folder`; return what `result.json` holds.

    Raises:
        OvplaceError: with its own text; what was measured until then is in the folder, and the same call continues.
        InterruptedRunError: Ctrl-C; likewise.
    """
    start = time.monotonic()
    check_settings(config)
    store = open_folder(config, folder)
    try:
        source, machine = _check_source(config, folder, store), _check_machine(config, folder, store)
        session = open_session(config, folder, listener)
        try:
            _remember(config, folder)
            store.put("source", source)
            store.put("machine", machine)
            return _search(session, store, listener, start, command)
        finally:
            session.pool.close()
    except KeyboardInterrupt as error:
        raise InterruptedRunError(
            f"stopped; everything measured is saved, the same command continues in '{folder}'"
        ) from error
    finally:
        store.close()


def open_folder(config: RunConfig, folder: Path) -> RunStore:
    """Create the run folder or take up the one that is there.

    Raises:
        StoreError: it cannot be written.
        ConfigError: it holds a run of something else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        earlier = folder / CONFIG
        if earlier.exists():
            _check_same(toml.build(toml.read(earlier)), config, folder)
    except OSError as error:
        raise StoreError(f"cannot write the run folder '{folder}': {error.strerror}; choose another with -o") from error
    return RunStore(folder / "run.db")


def _check_source(config: RunConfig, folder: Path, store: RunStore) -> str:
    """Return the fingerprint of the model, once it is sure that a run to be continued began with the same."""
    found = fingerprint(Path(config.search.model))
    if (folder / CONFIG).exists() and store.get("source") not in (None, found):
        raise _changed(config.search.model, folder)
    return found


def _check_machine(config: RunConfig, folder: Path, store: RunStore) -> str:
    """Return the digest of the simulated machine, likewise; empty where the devices are real."""
    backend = registry.load("backends", config.search.backend)
    found = backend.factory.digest(backend.config(config.backend))
    if (folder / CONFIG).exists() and store.get("machine") not in (None, found):
        raise _changed(str(config.backend.get("machine", "the simulated machine")), folder)
    return str(found)


def _changed(what: str, folder: Path) -> ConfigError:
    return ConfigError(
        f"'{what}' has changed since the run in '{folder}' began; choose another folder with -o, or delete it"
    )


def _remember(config: RunConfig, folder: Path) -> None:
    """Note what the folder is for, once model and devices have proved good: a mistyped call must not occupy it."""
    temporary = folder / f"new-{CONFIG}"
    try:
        temporary.write_text(toml.dumps(config), encoding="utf-8")
        temporary.replace(folder / CONFIG)  # half of it would be another run's
    except OSError as error:
        raise StoreError(f"cannot write the run folder '{folder}': {error.strerror}; choose another with -o") from error


def _check_same(earlier: RunConfig, config: RunConfig, folder: Path) -> None:
    changed = _differences(earlier, config)
    if changed:
        raise ConfigError(
            f"'{folder}' holds another run ({', '.join(changed)} differ); choose another folder with -o, or delete it"
        )


def _differences(earlier: RunConfig, config: RunConfig) -> list[str]:
    old, new = asdict(earlier), asdict(config)
    return [
        f"{section}.{key}"
        for section in old
        for key in sorted({*old[section], *new[section]})
        if key not in _MAY_CHANGE and old[section].get(key) != new[section].get(key)
    ]


def _search(session: Session, store: RunStore, listener: Listener, start: float, command: str) -> Data:
    measurer = Measurer(session, store, limit=_asked_limit(session))
    baselines = measure_baselines(measurer, session.config.measure, listener)
    measurer.limit = error_limit(session, baselines)
    trials: Sequence[Trial] = ()
    costs, certificate = None, None
    info: Mapping[str, float] = {}
    if session.problem.is_divisible:
        costs = _costs(measurer, baselines, listener)
        with measurer.seconds.searching():
            loop = make_loop(measurer, baselines[0], listener, costs.table if costs else None)
            trials = loop.run()
        certificate, info = loop.placer.certificate, loop.placer.info
    duel = decide(measurer, baselines, trials, listener)
    total_s = time.monotonic() - start
    about = costs.about if costs else None
    data = to_data(
        Outcome(session, baselines, trials, duel, measurer.seconds, total_s, command, about, certificate, info)
    )
    write_placed(session, data, duel.verdict.placement)
    write_json(session.folder / "result.json", data)
    return data


def _costs(measurer: Measurer, baselines: Sequence[Baseline], listener: Listener) -> Costs | None:
    """Return the costs of groups and cuts, None where the placer does without."""
    placer = registry.load("placers", measurer.session.config.search.placer)
    if not placer.factory.needs_costs(placer.config(measurer.session.config.placer)):
        return None
    start = time.monotonic()
    costs = obtain_costs(measurer, baselines, listener)
    measurer.seconds.profiling = time.monotonic() - start
    return costs


def _asked_limit(session: Session) -> float:
    """Return the error limit for the baselines: the user's, or that of f32 where all devices compute in f32."""
    if session.config.search.max_error is not None:
        return session.config.search.max_error
    return F32_LIMIT if all(device.precision == "f32" for device in session.devices) else float("inf")


def error_limit(session: Session, baselines: Sequence[Baseline]) -> float:
    """Return the error limit for placements.

    Where a device computes in a lower precision and the user set no limit, a placement may be twice as far off as the
    worst working device alone: mixing devices of one run must not lose more than using one of them.
    """
    asked = _asked_limit(session)
    if np.isfinite(asked):
        return asked
    alone = [b.measurement.max_error for b in baselines[: len(session.devices)] if b.measurement.ok]
    return max(F32_LIMIT, 2 * max(alone))


def make_loop(measurer: Measurer, reference: Baseline, listener: Listener, costs: CostTable | None = None) -> Loop:
    """Return the search loop of a run; profiling counts towards its time."""
    search, problem = measurer.session.config.search, measurer.session.problem
    time_s = max(search.time_s - measurer.seconds.profiling, search.time_s / 2)
    placer = registry.load("placers", search.placer)
    settings = placer.config(dict(measurer.session.config.placer))
    return Loop(
        placer=placer.factory(replace(problem, costs=costs) if costs else problem, settings),
        measurer=measurer,
        reference=reference.candidate,
        spec=measurer.session.config.measure,
        budget=Budget(search.budget, time_s, search.batch),
        origin=search.placer,
        listener=listener,
    )
