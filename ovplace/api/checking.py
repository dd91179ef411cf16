"""Checking the answer of a run again."""

from __future__ import annotations

from pathlib import Path

from ovplace.commands.checking.check import check
from ovplace.commands.checking.check_report import CheckReport
from ovplace.config.boolean import given_bool
from ovplace.config.duration import seconds
from ovplace.config.schema import RIGOROUS_ROUNDS
from ovplace.progress import showing
from ovplace.session.events import Listener


def check_run(
    folder: str | Path,
    *,
    time: str | float = 0.0,
    input: str | Path = "",
    rigorous: bool = False,
    progress: bool = True,
    listener: Listener | None = None,
) -> CheckReport:
    """Return whether the answer of a finished run holds on this machine.

    Args:
        folder: the run folder.
        time: time of the call, at most: seconds, or a string such as `2m`; 0 for no limit.
        input: `.npz` file with one array for each input; the inputs of the run by default.
        rigorous: twenty fresh processes.
        progress: show a progress bar, where there is a terminal or a notebook.
        listener: a function that is called at each step (`Progress`), in place of the progress bar.

    Raises:
        OvplaceError: there is no finished run, its files are damaged, or the inputs are not there.
    """
    rounds = RIGOROUS_ROUNDS if given_bool(rigorous, "rigorous") else 0
    time_s = seconds(time) if time else 0.0
    with showing(progress, listener) as shown:
        return check(Path(folder), shown, time_s, rounds, str(input))
