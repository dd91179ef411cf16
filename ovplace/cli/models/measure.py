"""`ovplace measure`: time devices and a placement, without a search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console

if TYPE_CHECKING:
    from ovplace.commands.measure import MeasuredCandidate, MeasureReport


@click.command(short_help="Time devices and placements.")
@options.model
@options.measuring
@options.placements
@options.rigorous
@options.configuring
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console,
    /,
    model: str,
    placements: tuple[str, ...],
    rigorous: bool,
    config_file: str | None,
    settings: tuple[str, ...],
    as_json: bool,
    **search: Any,
) -> None:
    """Time MODEL on each device, under HETERO's automatic mode (-d HETERO:...) and with placements, in turns.

    A percentile is given only if there are enough samples: 64 for p90, 130 for p95, 662 for p99. --rigorous takes
    enough for all.

    A placement names the operations of the prepared model. MODEL is therefore placed.xml of a run, or the model that
    the run was given.
    """
    from ovplace.api.model_file import find_model
    from ovplace.cli.arguments.placement_file import read_placement
    from ovplace.cli.output.tables import show_json
    from ovplace.commands.measure import THE_PLACEMENT, measure
    from ovplace.config.schema import RIGOROUS_ROUNDS
    from ovplace.errors import BackendError
    from ovplace.progress import listening
    from ovplace.session.configure import effective

    given = {"model": find_model(model), **options.given(search)}
    config = effective(config_file, settings, given)
    tables = {name if len(placements) > 1 else THE_PLACEMENT: read_placement(Path(name)) for name in placements}
    with listening(console) as listener:
        report = measure(config, tables, listener, RIGOROUS_ROUNDS if rigorous else 1)
    if as_json:
        show_json(report.to_json())
    else:
        _show(report)
    if report.failed:
        raise BackendError("nothing could be measured; the reasons stand in the result")


def _show(report: MeasureReport) -> None:
    from ovplace.cli.output.tables import show_table

    header = ("placement", "samples", "median ms", "p90", "p95", "p99", "compile ms", "output error", "submodels")
    show_table(header, [_row(report, row) for row in report.measured], right=range(1, 8))
    for line in (*_missing_percentiles(report), *(f"Note: {note}." for note in report.notes)):
        click.echo(line)


def _missing_percentiles(report: MeasureReport) -> list[str]:
    """Return a line for each percentile with too few samples, and the number of samples."""
    names: dict[str, list[str]] = {}
    for row in report.measured:
        if row.latency_ms and (missing := row.latency_ms.missing()):
            percentile, needed = missing
            lacks = f"{percentile} needs {needed} samples, there are {row.latency_ms.samples}"
            names.setdefault(lacks, []).append(_label(report, row.name))
    return [f"{lacks} of {', '.join(rows)}: --rigorous" for lacks, rows in names.items()]


def _label(report: MeasureReport, name: str) -> str:
    from ovplace.core.result.labels import marked

    emulated = {device.name: device.emulated for device in report.devices}
    return marked(name, emulated, bool(report.environment.get("simulated")))


def _row(report: MeasureReport, row: MeasuredCandidate) -> tuple[str, ...]:
    from ovplace.core.result.labels import error, number

    name, found = _label(report, row.name), row.latency_ms
    if not found:
        return name, *"-------", str(row.error)
    ends = {level: f" [{number(p.low)}, {number(p.high)}]" if p else "" for level, p in found.percentiles.items()}
    upper = [number(p.value) + ends[level] if p else "-" for level, p in found.percentiles.items() if level != "p50"]
    chain = _label(report, " ".join(row.submodels)) if len(row.submodels) <= 8 else f"{len(row.submodels)}"
    times = (str(found.samples), number(found.median) + ends["p50"], *upper)
    return name, *times, f"{row.compile_ms:.0f}", error(row.max_rel_error), chain
