"""A whole ablation: what is not finished yet is run, then all of it becomes a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from ovplace.errors import InterruptedRunError, StoreError, UsageError
from ovplace.experiments import progress
from ovplace.experiments.execute import execute
from ovplace.experiments.markdown import markdown
from ovplace.experiments.model import build
from ovplace.experiments.plan import Ablation, Run
from ovplace.experiments.progress import State, state
from ovplace.experiments.summary import cells
from ovplace.search.result import write_json
from ovplace.session.events import Listener, Progress, silent

SCHEMA = 1
Data = dict[str, Any]


def ablate(ablation: Ablation, jobs: int, listener: Listener = silent, only: str = "*") -> Data:
    """Run what is not finished; return what `ablation.json` holds.

    Args:
        ablation: what to run.
        jobs: simulated runs at the same time.
        listener: is told each model that is built and each run that ends.
        only: pattern of the run folders, below that of the ablation, that are to be run now.

    Raises:
        UsageError: no folder fits the pattern.
        InterruptedRunError: Ctrl-C; the same call goes on, and the table has what is finished.
        ModelError: a recipe's model cannot be written.
        StoreError: the folder cannot be written.
    """
    chosen = _chosen(ablation, only)
    try:
        _build_models(ablation, listener)
        _run(chosen, jobs, listener)
    except KeyboardInterrupt as error:
        done = Counter(run["status"] for run in table(ablation)["runs"])["finished"]
        raise InterruptedRunError(
            f"stopped; {done} of {len(ablation.runs)} runs are finished, the same command goes on in '{ablation.out}'"
        ) from error
    return table(ablation)


def table(ablation: Ablation) -> Data:
    """Return what `ablation.json` holds of the runs that are there, and write it, beside `ablation.md`.

    Raises:
        StoreError: the files cannot be written.
    """
    states = [state(run) for run in ablation.runs]
    data: Data = {
        "schema": SCHEMA,
        "name": ablation.name,
        "folder": str(ablation.out),
        "variants": {variant.name: variant.settings for variant in ablation.variants},
        "cells": cells(_together(ablation, states)),
        "runs": [_plain(of) for of in states],
    }
    try:
        ablation.out.mkdir(parents=True, exist_ok=True)
        (ablation.out / "ablation.md").write_text(markdown(data), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write '{ablation.out}': {error.strerror}; choose another folder with -o") from error
    write_json(ablation.out / "ablation.json", data)
    return data


def _chosen(ablation: Ablation, only: str) -> list[Run]:
    """Return the runs that fit a pattern such as `*/resnet-50/*`; a star stands for anything, slashes included."""
    paths = {run.folder.relative_to(ablation.out).as_posix(): run for run in ablation.runs}
    chosen = [run for path, run in paths.items() if fnmatchcase(path, only)]
    if not chosen:
        raise UsageError(f"--only '{only}' fits no run of '{ablation.name}'; the first one is '{next(iter(paths))}'")
    return chosen


def _build_models(ablation: Ablation, listener: Listener) -> None:
    for number, model in enumerate(ablation.models, start=1):
        if build(model, ablation.out):
            listener(Progress("models", number, len(ablation.models), f"built {model.label}"))


def _run(runs: Sequence[Run], jobs: int, listener: Listener) -> None:
    left = [run for run in runs if state(run).score is None]
    done = len(runs) - len(left)
    listener(Progress("runs", done, len(runs), f"{done} of {len(runs)} are finished already"))

    def ended(run: Run, error: str) -> None:
        nonlocal done
        done += 1
        progress.note(run.folder, error)
        name = f"{run.variant}, {run.model}, {run.machine}, seed {run.seed}"
        listener(Progress("runs", done, len(runs), f"{name}{error and ': '}{error}"))

    execute(left, jobs, ended)


def _together(ablation: Ablation, states: Sequence[State]) -> list[State]:
    """Return the states in the table's order: by model, machine, variant, seed."""
    order = {variant.name: number for number, variant in enumerate(ablation.variants)}
    places = {key: number for number, key in enumerate(dict.fromkeys((s.run.model, s.run.machine) for s in states))}
    return sorted(states, key=lambda s: (places[s.run.model, s.run.machine], order[s.run.variant]))


def _plain(of: State) -> Data:
    run, found = of.run, of.score
    named = {"variant": run.variant, "model": run.model, "machine": run.machine, "seed": run.seed}
    status = "finished" if found else "failed" if of.error else "open"
    data: Data = {**named, "status": status, "error": of.error or None, "folder": str(run.folder)}
    if found and of.result:
        search = of.result["search"]
        data |= {
            "simulated": of.result["environment"]["simulated"],
            "latency_ms": found.latency_ms,
            "to_single": found.to_single,
            "found_to_single": found.found_to_single,
            "noise_free": found.noise_free,
            "verdict": of.result["verdict"]["status"],
            "origin": of.result["best"]["origin"],
            "ops_per_device": of.result["best"]["ops_per_device"],
            "measured": search["measured"],
            "failed_trials": search["failed"],
            "seconds": search["seconds"]["total"],
            "placer_info": search.get("placer_info"),
        }
    return data
