"""From a trial that failed to a model, as small as can be, that fails alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ovplace.commands.minimizing.cut import Cut, cut_of_trial, smallest_cut
from ovplace.commands.minimizing.oracle import Oracle
from ovplace.commands.minimizing.reproduction import (
    ELSEWHERE,
    INPUTS,
    MODEL,
    PROGRAM,
    Reproduction,
    check_keeps_files,
    write_reproduction,
)
from ovplace.commands.output_folder import check_folder
from ovplace.commands.own_devices import on_this_machine
from ovplace.commands.run_inputs import with_inputs
from ovplace.config.files import absolute
from ovplace.config.schema import RunConfig
from ovplace.core.measurement import ErrorKind, Job, Trial
from ovplace.core.placement import Placement
from ovplace.errors import OvplaceError, PlacementError, UsageError
from ovplace.graphs.op_graph import OpGraph
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.isolated_call import isolated_call
from ovplace.measuring.process_pool import ProcessPool
from ovplace.session.events import Listener, Progress
from ovplace.session.session import Session, open_session
from ovplace.store.run_folder import RunFolder

SCHEMA, BUDGET = 1, 200


@dataclass(frozen=True)
class Minimized:
    """What is left of a trial that fails.

    Attributes:
        trial: its number.
        kind: how it fails.
        text: how the model that is left fails, in words.
        home: the device on which everything else works.
        moved: device of each operation that has to be elsewhere, by name.
        moved_before: number of operations that were elsewhere in the trial.
        ops: number of operations of the model that is left.
        ops_before: number of operations of the whole model.
        runs: placements that were run for it.
        is_smallest: False where the budget was spent before.
        shown: whether the program showed the failure when it was run.
        folder: where the files are.
    """

    trial: int
    kind: ErrorKind
    text: str
    home: str
    moved: Mapping[str, str]
    moved_before: int
    ops: int
    ops_before: int
    runs: int
    is_smallest: bool
    shown: bool
    folder: Path

    def to_json(self) -> dict[str, object]:
        """Return what `ovplace minimize --json` prints."""
        return {"schema": SCHEMA, **asdict(self), "kind": self.kind.value, "folder": str(self.folder)}


def minimize(
    folder: Path, number: int, target: Path, listener: Listener, budget: int = BUDGET, input_path: str = ""
) -> Minimized:
    """Find the smallest cut that fails as a trial did, and write it with a program that shows it.

    Args:
        folder: the run folder; the run need not be finished.
        number: of the trial.
        target: folder to write into.
        listener: is called with each step.
        budget: placements to run, at most.
        input_path: `.npz` file with one array for each input; empty for the inputs of the run.

    Raises:
        UsageError: there is no such trial, it worked, the run is simulated, the inputs are not there, or files that no
            earlier call has written would be lost.
        PlacementError: the trial works now, or no device works alone.
        StoreError: `target` cannot be written.
        OvplaceError: the run cannot be read, or its devices are not on this machine.
    """
    files = RunFolder(folder)
    trial = _failed_trial(files, number)
    config = _config_here(files, input_path)
    check_keeps_files(target)
    check_folder(target, ELSEWHERE)
    with closing(open_session(config, files, listener)) as session:
        oracle = Oracle(session.pool, config.measure.deadline_s, budget=budget)
        whole = cut_of_trial(session, oracle, trial)
        cut = smallest_cut(whole, oracle, listener)
        left = _smallest_model(session, oracle, cut, target, listener)
        shown = _show(session, oracle, cut, left, target)
        table = cut.placement.to_names(session.graph)
        return Minimized(
            trial=number,
            kind=cut.kind,
            text=left.text,
            home=session.problem.device_names[cut.home],
            moved={session.graph.names[op]: table[session.graph.names[op]] for op in cut.members(cut.moved)},
            moved_before=len(whole.members(whole.moved)),
            ops=len(left.graph),
            ops_before=len(session.graph),
            runs=oracle.runs,
            is_smallest=oracle.budget > 0,
            shown=shown,
            folder=target,
        )


def _failed_trial(files: RunFolder, number: int) -> Trial:
    files.check_exists()
    if not files.has_begun:
        raise files.no_run()
    with closing(files.open_store()) as store:
        trials = {trial.number: trial for trial in store.trials()}
    failed = [trial.number for trial in trials.values() if not trial.measurement.ok]
    if number not in failed:
        said = f"worked in '{files}'" if number in trials else f"is not in '{files}'"
        listed = f"those that failed are {', '.join(map(str, failed))}" if failed else "no trial failed"
        raise UsageError(f"trial {number} {said}; {listed}")
    return trials[number]


def _config_here(files: RunFolder, input_path: str) -> RunConfig:
    """Return the configuration of a run for this machine, with other inputs where they are given.

    Raises:
        UsageError: the run is simulated, or the inputs are not there.
        OvplaceError: it cannot be read.
    """
    config = files.read_config()
    if config.plugins.backend.own_devices() is not None:
        raise UsageError(f"'{files}' is a run on a simulated machine, which runs no inferences that could fail")
    return with_inputs(on_this_machine(config), input_path)


@dataclass(frozen=True, eq=False)
class _Model:
    """A model that fails, in its files.

    Attributes:
        graph: its operations.
        table: device of each of them, by name.
        text: how it fails, in words.
    """

    graph: OpGraph
    table: Mapping[str, str]
    text: str


def _smallest_model(session: Session, oracle: Oracle, cut: Cut, target: Path, listener: Listener) -> _Model:
    """Return the first model that fails alone: the moved operations, then with more and more of what is around them."""
    for groups in _growing(session.graph, cut):
        ops = cut.members(groups)
        listener(Progress("minimize", oracle.runs, oracle.runs, f"{len(ops)} operations as a model of their own"))
        with suppress(OvplaceError):  # nobody reads what it computes, or the CPU does not run it alone
            if found := _fails_alone(session, oracle, cut, ops, target):
                return found
    raise PlacementError("the cut fails in the run folder, but not as a model of its own; report it")


def _growing(graph: OpGraph, cut: Cut) -> Iterator[list[int]]:
    """Yield the moved groups, then with all groups at a distance of at most 1, 2, 4, ..., at last the whole model."""
    edges = cut.groups.quotient(graph).edges
    inside, radius, wanted = set(cut.moved), 0, 0
    while True:
        if radius == wanted or len(inside) == cut.groups.n_groups:
            yield sorted(inside)
            wanted = 2 * wanted or 1
        if len(inside) == cut.groups.n_groups:
            return
        near = np.isin(edges, list(inside)).any(axis=0)
        grown = inside | set(edges[:, near].ravel().tolist())
        inside, radius = grown if len(grown) > len(inside) else set(range(cut.groups.n_groups)), radius + 1


def _fails_alone(session: Session, oracle: Oracle, cut: Cut, ops: list[int], target: Path) -> _Model | None:
    """Write operations as a model; return it if it fails as the cut does."""
    from ovplace.ir.parts.saved_part import save_part
    from ovplace.ir.read import read_graph

    config, known = session.config, cut.placement.to_names(session.graph)
    given = absolute(config.search.input)
    written = target / MODEL, target / INPUTS
    model = session.folder.prepared_model
    table = isolated_call("cutting the model", save_part, model, ops, known, written, given, config.search.seed)
    graph = read_graph(written[0])
    options = config.plugins.backend.options
    job = Job(str(written[0].resolve()), session.devices, str(written[1].resolve()), config.search.seed, options)
    with closing(ProcessPool(WorkerSpec(config.search.backend, job))) as pool:
        alone, placement = Oracle(pool, oracle.deadline_s, oracle.limit), Placement.from_names(graph, table)
        return _Model(graph, table, alone.said(placement)) if alone.fails(placement, cut.kind) else None


def _show(session: Session, oracle: Oracle, cut: Cut, left: _Model, target: Path) -> bool:
    """Write program and report, run the program, and return whether it fails."""
    used = set(left.table.values())
    what = Reproduction(cut.kind, left.text, [d for d in session.devices if d.name in used], oracle.limit)
    facts = {key: value for key, value in session.facts.items() if value}
    write_reproduction(target, what, facts, left.graph, left.table)
    try:
        done = subprocess.run(
            [sys.executable, str(target / PROGRAM)], capture_output=True, timeout=oracle.deadline_s, check=False
        )
    except subprocess.TimeoutExpired:
        return cut.kind == ErrorKind.TIMEOUT
    return done.returncode != 0 and cut.kind != ErrorKind.TIMEOUT
