"""A whole run: set-up, baselines, search, final comparison, files."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig
from ovplace.core.one_thread import one_thread
from ovplace.core.placement import Placement
from ovplace.core.result.parts import Limits
from ovplace.core.result.run_result import RunResult
from ovplace.errors import InterruptedRunError, StoreError
from ovplace.search.comparison.null_control import with_null_note
from ovplace.search.completed_run import GROUPS, stored_groups
from ovplace.search.continuation import (
    check_fingerprints,
    earlier_result,
    finishing_limits,
    limits_of,
    opened_store,
)
from ovplace.search.explore import explore
from ovplace.search.result import build_result
from ovplace.session.deadline import TimeBudget
from ovplace.session.events import Listener, Progress, silent
from ovplace.session.fingerprint import fingerprint
from ovplace.session.measurer import Measurer
from ovplace.session.session import Begun, Session, check_settings, devices_in_words, open_session
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

EMULATED = "emulated"
"""Key in the run's store of the names of its emulated devices."""

HARDWARE = "hardware"
"""Key in the run's store of what the machines of its fleet have; empty where this machine measures."""

DEVICES = "devices"
"""Key in the run's store of its devices, as `devices_in_words` returns them."""

MODEL = "model"
"""Key in the run's store of the content hash of its prepared model."""

ANSWER = "answer"
"""Key in the run's store of the fingerprints of the answer's files as they were written."""

_PROVENANCE = ("verdict", "best", "environment")
"""Parts of the result that the placed model carries, too."""


def run(config: RunConfig, path: Path, listener: Listener = silent, command: str = "") -> RunResult:
    """Run, or continue, a search.

    Args:
        config: the effective configuration.
        path: the run folder.
        listener: is called with each step.
        command: the command line to note in the result.

    Returns:
        The result, which the folder holds, too.

    Raises:
        OvplaceError: with its own text; what was measured until then is in the folder, and the same call continues.
        InterruptedRunError: Ctrl-C; likewise.
    """
    start = time.monotonic()
    config = resolved(config)
    check_settings(config)
    folder = RunFolder(path)
    try:
        with folder.locked(), opened_store(config, folder) as store:
            fingerprints = check_fingerprints(config, folder, store)
            earlier = _undamaged(folder, store, listener)
            if earlier and (limits := finishing_limits(config, folder, earlier)):
                listener(Progress("prepare", 3, 3, _finished(folder, limits)))
                return earlier
            if folder.has_begun:
                listener(Progress("prepare", 1, 3, f"continuing the run in '{folder}'"))
            begun = _begun(store) if folder.has_begun else None
            with closing(open_session(config, folder, listener, begun)) as session:
                # Only now, as model and devices have proved good: a mistyped call must not occupy the folder.
                _occupy(session, store, fingerprints)
                return _search(Call(session, store, listener, start, command, earlier))
    except KeyboardInterrupt as error:
        raise InterruptedRunError(
            f"stopped; everything measured is saved, the same command continues in '{folder}'"
        ) from error


def _begun(store: RunStore) -> Begun:
    hardware, model = (str(store.get(key) or "") for key in (HARDWARE, MODEL))
    return Begun(hardware, stored_groups(store), store.get(DEVICES), model)


def _undamaged(folder: RunFolder, store: RunStore, listener: Listener) -> RunResult | None:
    """Return the result of an earlier call; None for none, or where files of its answer must be made anew."""
    try:
        earlier = earlier_result(folder)
    except StoreError as error:
        problem = f"the result in '{folder}' cannot be read ({error.__cause__}); it is made anew"
    else:
        problem = _damage(folder, store, earlier) if earlier else ""
        if not problem:
            return earlier
    listener(Progress("prepare", 1, 3, problem))
    return None


def _damage(folder: RunFolder, store: RunStore, earlier: RunResult) -> str:
    """Return what of a finished run is lost or damaged; empty where nothing is."""
    if (count := store.count_trials()) < earlier.search.trials:
        return f"'{folder.database}' holds {count} of {earlier.search.trials} trials; the others are made anew"
    if not _is_as_written(folder, store):
        return f"files of the answer in '{folder}' are damaged; they are made anew"
    return ""


def _is_as_written(folder: RunFolder, store: RunStore) -> bool:
    """Return whether the answer's files have not changed; delete a model that has, so that it is prepared again."""
    written, found = store.get(ANSWER), _of_answer(folder)
    if written in (None, found):  # earlier versions did not note it
        return True
    if not isinstance(written, dict) or written.get("model") != found["model"]:
        folder.delete(folder.prepared_model)
    return False


def _of_answer(folder: RunFolder) -> dict[str, str]:
    """Return the fingerprints of the placed model and of the placement.

    Raises:
        StoreError: they cannot be read.
    """
    try:
        return {"model": fingerprint(folder.placed_model), "placement": fingerprint(folder.placement)}
    except OSError as error:
        raise StoreError(f"cannot read the answer in '{folder}': {error.strerror}; check its permissions") from error


def _occupy(session: Session, store: RunStore, fingerprints: Mapping[str, str]) -> None:
    """Note in the folder and its store what run this is, and where it is made; the configuration says that it began."""
    emulated = [device.name for device in session.devices if device.emulated]
    groups = session.problem.partition.group_of.tolist()
    devices, hardware, model = devices_in_words(session.devices), session.site.hardware, session.graph.content_hash
    kept = {**fingerprints, EMULATED: emulated, DEVICES: devices, HARDWARE: hardware, GROUPS: groups, MODEL: model}
    for key, value in kept.items():
        store.put(key, value)
    session.folder.write_config(session.config)


def _finished(folder: RunFolder, limits: Limits) -> str:
    longer = " or ".join(["--budget"] * bool(limits.budget) + ["--time"] * bool(limits.time_s))
    return f"the run in '{folder}' is finished ({limits}); a larger {longer} continues it"


@dataclass(frozen=True)
class Call:
    """A call that has something to do.

    Attributes:
        session: the run.
        store: its store.
        listener: is called with each step.
        start_s: when the call began, on the monotonic clock.
        command: the command line.
        earlier: the result of the last call that finished the run; None where none has.
    """

    session: Session
    store: RunStore
    listener: Listener
    start_s: float
    command: str
    earlier: RunResult | None


def _search(call: Call) -> RunResult:
    session, start = call.session, call.start_s
    now, time_s = time.monotonic(), session.config.search.time_s
    measurer = Measurer(session, call.store, time=TimeBudget(now, start + time_s - now if time_s else float("inf")))
    earlier_answer = call.earlier.best.hash if call.earlier and call.earlier.is_faster else ""
    with one_thread():
        findings = explore(measurer, call.listener, earlier_answer)
    findings = replace(findings, preparing_s=now - start, total_s=time.monotonic() - start, command=call.command)
    result = _with_limits(build_result(findings), call, skipped=findings.skipped)
    if call.earlier and _stands(call.earlier, result, findings.comparison.failed):
        kept = _kept(call.earlier, result)
        session.folder.write_result(kept)
        return kept
    _write_answer(session, call.store, result, findings.comparison.placement)
    return result


def _with_limits(result: RunResult, call: Call, *, skipped: bool) -> RunResult:
    """Return a result that says under which limits it is finished, those of earlier calls included."""
    before = call.earlier.search.finished_under if call.earlier else ()
    limits = replace(limits_of(call.session.config), skipped=skipped)
    return replace(result, search=replace(result.search, finished_under=(*before, limits)))


def _stands(earlier: RunResult, result: RunResult, failed: Collection[str]) -> bool:
    """Return whether an earlier answer stands: a later call compared nothing, and has not seen it fail.

    Args:
        earlier: the result of the earlier call.
        result: that of the later one.
        failed: hashes of placements that failed as the later call measured them again.
    """
    if result.found is not None or (earlier.is_faster and earlier.best.hash in failed):
        return False
    return earlier.is_faster or earlier.found is not None


def _kept(earlier: RunResult, result: RunResult) -> RunResult:
    """Return the earlier answer with what a later call tells of its search."""
    notes = (*result.verdict.notes, "so the answer of an earlier call stands")
    return replace(earlier, search=result.search, verdict=with_null_note(replace(earlier.verdict, notes=notes)))


def _write_answer(session: Session, store: RunStore, result: RunResult, placement: Placement) -> None:
    """Write the placed model with the run's provenance, the placement, and last the result."""
    from ovplace.ir.placed_model import write_placed

    # The command names files of this machine; what is exported names none.
    about = replace(result, environment=replace(result.environment, command="")).to_json()
    provenance = {key: value for key, value in about.items() if key in _PROVENANCE}
    table = placement.to_names(session.graph)
    session.folder.delete(session.folder.result)  # an earlier one is not of the placement that is written now
    write_placed(session.folder.prepared_model, session.folder.path, table, session.devices, provenance)
    store.put(ANSWER, _of_answer(session.folder))
    session.folder.write_result(result)
