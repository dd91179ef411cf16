"""The result of a run as text: the table, the verdict in words, what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import click

from ovplace.cli.output.tables import show_json, show_table
from ovplace.cli.output.terminal import say
from ovplace.core.result.labels import (
    ends,
    error,
    label,
    number,
    operations,
    other_ratios,
    percent,
    ratio_text,
    size,
    why_not_another,
)
from ovplace.core.result.rows import ResultRow, is_of_one_sample, remarks, rows_of
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status
from ovplace.plugins import registry
from ovplace.store.run_folder import RunFolder

_HEADER = ("placement", "latency ms", "95 % interval", "ratio", "output error", "remark")


def show_result(result: RunResult, as_json: bool = False) -> None:
    """Print the result of a finished run.

    Args:
        result: the result.
        as_json: print what `result.json` holds.
    """
    if as_json:
        show_json(result.to_json())
        return
    rows = list(rows_of(result))
    answer = next((number for number, row in enumerate(rows) if row.is_answer), None)
    show_table(_HEADER, [_cells(result, row) for row in rows], right=(1, 2, 3, 4), marked=answer)
    click.echo()
    for line in verdict_lines(result):
        say(line)
    for line in _next_lines(result):
        click.echo(line)


def verdict_lines(result: RunResult) -> Iterator[str]:
    """Yield the verdict in plain sentences."""
    yield _answer(result)
    if machine := result.environment.simulated:
        yield f"All figures are simulated, on the machine {machine}; no inference was run."
    yield from other_ratios(result)
    for note in result.verdict.notes:
        yield f"Note: {note}."


def _cells(result: RunResult, row: ResultRow) -> tuple[str, ...]:
    name = label(result, row.name) if row.baseline else f"found by {row.name}"
    cells = (*_latency(result, row.latency_ms), number(row.ratio), error(row.max_rel_error))
    answer = ("the answer",) if row.is_answer else ()
    return (name, *cells, ", ".join((*answer, *remarks(result, row))))


def _answer(result: RunResult) -> str:
    verdict, against = result.verdict, label(result, result.verdict.against)
    if verdict.status == Status.FASTER and verdict.ratio:
        gain = percent(1 - verdict.ratio.value)
        return f"{_description(result)} takes {gain} less time than {against}: {ratio_text(verdict.ratio)}."
    answer = label(result, result.best.origin)
    if verdict.ratio is None:
        return f"{answer} is the answer."
    return f"{answer} is the answer: {why_not_another(verdict.status, verdict.ratio)}, {ratio_text(verdict.ratio)}."


def _description(result: RunResult) -> str:
    best = result.best
    used = operations(best.ops_per_device, partial(label, result))
    if sum(count > 0 for count in best.ops_per_device.values()) == 1:
        return f"The placement ({used})"
    cut = f"{len(best.submodels)} submodels, {size(best.cut_bytes)} copied between devices"
    return f"The HETERO placement ({used}; {cut})"


def _next_lines(result: RunResult) -> Iterator[str]:
    folder = RunFolder(result.folder)
    yield ""
    yield f"Files in {result.folder}: {', '.join(path.name for path in folder.answer_files())}"
    if folder.report.exists():
        yield f"See it:     {folder.report} in a browser"
    if not result.environment.simulated:  # else this machine may lack the devices
        program = f"import ovplace; compiled = ovplace.load({str(result.folder)!r})"
        yield f"Load it:    python -c {_in_double_quotes(program)}"
    yield f"Other formats: ovplace export {folder.typed} --to {'|'.join(registry.names('exporters'))}"


def _in_double_quotes(program: str) -> str:
    """Return a program, in which single quotes are common, as one word of a shell."""
    return '"' + re.sub(r'(["\\$`])', r"\\\1", program) + '"'


def _latency(result: RunResult, found: Interval | None) -> tuple[str, str]:
    if found is None:
        return "-", "-"
    return number(found.value), "-" if is_of_one_sample(result, found) else ends(found)
