"""`ovplace check`: whether the answer of a run still holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console
from ovplace.cli.results.input_option import input_option

if TYPE_CHECKING:
    from ovplace.commands.checking.check_report import CheckReport


@click.command(short_help="Check whether the answer of a run still holds here.")
@options.run
@click.option(
    "-t",
    "--time",
    "time_s",
    type=options.Duration(),
    help="Time limit of the whole call: 90s, 10m; none by default.",
)
@input_option
@options.rigorous
@options.as_json
@options.common
@click.pass_obj
def command(console: Console, run: str, time_s: float | None, input_path: str, rigorous: bool, as_json: bool) -> None:
    """Check whether the answer in the folder RUN holds on this machine, with its drivers and versions.

    The answer is compiled and run, its outputs are checked, and the final comparison is repeated. The result in RUN
    stays as it is. The exit code is 3 if the answer does not hold.
    """
    from ovplace.api.checking import check_run
    from ovplace.cli.output.tables import show_json
    from ovplace.errors import NotReachedError
    from ovplace.progress import listening

    with listening(console) as listener:
        report = check_run(run, time=time_s or 0.0, input=input_path, rigorous=rigorous, listener=listener)
    if as_json:
        show_json(report.to_json())
    else:
        _show(report)
    if not report.holds:
        raise NotReachedError(f"the answer in '{run}' does not hold here: {report.problem}; {_advice(report)}")


def _advice(report: CheckReport) -> str:
    if report.is_undecided:
        return "check again with more time, or with --rigorous, or search again with 'ovplace optimize'"
    return "search again with 'ovplace optimize' and another folder -o"


def _show(report: CheckReport) -> None:
    from ovplace.cli.output.tables import show_pairs
    from ovplace.core.result.labels import error, label, number

    result = report.result
    latencies = (result.best.latency_ms, report.latency_ms)
    show_pairs(
        [
            ("answer", label(result, result.best.origin)),
            ("environment", "; ".join(_changes(report)) or "as it was"),
            ("runs", "yes" if report.runs else "no"),
            ("output error", f"{_then(*map(error, (result.accuracy.max_rel_error, report.max_rel_error)))}"),
            ("latency ms", _then(*(number(found.value if found else None) for found in latencies))),
            ("verdict", _then(result.verdict.status.value, report.verdict.status.value if report.verdict else "-")),
        ]
    )
    for note in report.notes:
        click.echo(f"Note: {note}.")
    click.echo(f"\nThe answer {'holds' if report.holds else 'does not hold'}.")


def _then(before: str, now: str) -> str:
    return f"{now}, was {before}"


def _changes(report: CheckReport) -> Iterator[str]:
    for change in report.changes:
        yield f"{change.name} {change.now or 'none'}, was {change.then or 'none'}"
