"""`ovplace show`: the result of a run, or how far it is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console
from ovplace.core.text.plural import plural

if TYPE_CHECKING:
    from ovplace.commands.run_state import RunState
    from ovplace.core.result.run_result import RunResult


@click.command(short_help="Show the result of a run, or how far it is.")
@options.run
@options.as_json
@options.common
@click.pass_obj
def command(console: Console, run: str, as_json: bool) -> None:
    """Show the result of the run in the folder RUN; if it is not finished, show the best placement so far.

    Nothing is measured or changed, so this works while a search is running.
    """
    from ovplace.cli.output.result import show_result
    from ovplace.cli.output.terminal import say
    from ovplace.commands.run_state import is_finished, read_state, searching_process, stored_trials
    from ovplace.store.run_folder import RunFolder

    folder = Path(run)
    if not is_finished(folder):
        _show_state(read_state(folder), as_json)
        return
    if process := searching_process(folder):
        console.log(f"the run is being continued by {process}; this is the result so far")
    result = RunFolder(folder).read_result()
    show_result(result, as_json)
    if (stored := stored_trials(folder)) is not None:
        for line in _differences(folder, result, stored):
            (console.log if as_json else say)(line)


def _differences(folder: Path, result: RunResult, stored: int) -> Iterator[str]:
    """Yield what the trials that a run has stored say beside its result."""
    from ovplace.commands.run_state import trials_since

    trials = result.search.trials
    if stored < trials:
        yield f"{trials - stored} of its {trials} trials are missing in run.db; the same 'ovplace optimize' makes them"
    if (count := trials_since(folder, result, stored)) is not None:
        more = f"A continuation with {plural(count, 'trial')} was stopped"
        yield f"{more}; the same 'ovplace optimize' continues it."


def _show_state(state: RunState, as_json: bool) -> None:
    from dataclasses import asdict

    from ovplace.cli.output.tables import show_json, show_pairs

    if as_json:
        show_json({"finished": False, **asdict(state)})
        return
    failed = f", {state.failed} failed" if state.failed else ""
    measured, budget = state.measured, state.budget
    placements = f"{measured} of {plural(budget, 'placement')}" if budget else plural(measured, "placement")
    going_on = f"by {state.holder}" if state.holder else "stopped; the same 'ovplace optimize' continues it"
    show_pairs(
        [
            ("model", state.model),
            ("not finished", placements + failed if state.model else "preparing"),
            ("searched", going_on),
            ("best so far", _best(state)),
        ]
    )


def _best(state: RunState) -> str:
    from ovplace.core.result.labels import marked, operations

    if state.best is None:
        return ""
    shown = partial(marked, emulated=state.emulated, simulated=state.simulated)
    used = operations(state.best.ops_per_device, shown)
    alone = f"{100 * state.best.ratio:.0f} % of {shown(state.reference)} alone"
    return f"{alone}, measured once: {used} (trial {state.best.trial})"
