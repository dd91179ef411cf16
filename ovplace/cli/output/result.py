"""The result of a run as text: the table, the verdict in words, what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click

from ovplace.cli.output.tables import show_table, size
from ovplace.core.result import RunResult
from ovplace.core.result_parts import BaselineSummary
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status
from ovplace.store.run_folder import RunFolder

_HEADER = ("placement", "median ms", "95 % interval", "ratio", "output error", "remark")


def show_result(result: RunResult) -> None:
    """Print the result of a finished run."""
    best = [_best_row(result)] if result.is_faster else []
    show_table(_HEADER, [*(_row(result, baseline) for baseline in result.baselines), *best], right=(1, 2, 3, 4))
    click.echo()
    for line in (*verdict_lines(result), *_next_lines(result)):
        click.echo(line)


def verdict_lines(result: RunResult) -> Iterator[str]:
    """Yield the verdict in plain sentences."""
    verdict = result.verdict
    yield _answer(result)
    if machine := result.environment.simulated:
        yield f"All figures are simulated, on the machine {machine}; no inference was run."
    if result.is_faster:
        for name, ratio in verdict.defaults.items():
            yield _against_default(result, name, ratio)
    if verdict.null_control:
        base = label(result, verdict.against)
        yield f"Null control, the same cut between {base} and an identical {base}: {_ratio(verdict.null_control)}."
    for note in verdict.notes:
        yield f"Note: {note}."


def label(result: RunResult, name: str) -> str:
    """Return a name in which devices that are emulated or simulated are marked.

    Args:
        result: says which devices are.
        name: of a device, or of a baseline that names some.
    """
    emulated = {device.name: device.emulated for device in result.devices}
    return marked(name, emulated, bool(result.environment.simulated))


def marked(name: str, emulated: Mapping[str, bool], simulated: bool) -> str:
    """Return a name in which devices that are emulated or simulated are marked.

    Args:
        name: of a device, or of a baseline that names some.
        emulated: for each device whether it is emulated.
        simulated: whether all of them are simulated.
    """
    for device, is_emulated in emulated.items():
        if word := "emulated" if is_emulated else "simulated" if simulated else "":
            name = re.sub(rf"(?<![\w.]){re.escape(device)}(?![\w.])", f"{device} ({word})", name)
    return name


def _row(result: RunResult, baseline: BaselineSummary) -> tuple[str, ...]:
    mark = "" if baseline.competes else "does not compete"
    name = label(result, baseline.name)
    if baseline.error:
        return name, "-", "-", "-", "-", baseline.error
    chosen = f"runs on {_runs_on(result, baseline)}" if baseline.name.startswith("AUTO") else ""
    cells = (*_latency(_comparable(result, baseline)), number(baseline.ratio), error(baseline.max_rel_error))
    return (name, *cells, ", ".join(filter(None, (mark, chosen))))


def _comparable(result: RunResult, baseline: BaselineSummary) -> Interval | None:
    """Return the latency that may stand beside the answer's: both of the final comparison, as the machine drifts."""
    compared = any(other.final_latency_ms for other in result.baselines)
    return baseline.final_latency_ms if compared else baseline.latency_ms


def _runs_on(result: RunResult, baseline: BaselineSummary) -> str:
    """Return what AUTO chose; the GPU plugin calls itself `GPU.0` even where there is but one `GPU`."""
    names = baseline.runs_on.split(",")
    return ", ".join(label(result, n if n in result.device_names else n.removesuffix(".0")) for n in names)


def _best_row(result: RunResult) -> tuple[str, ...]:
    best, verdict = result.best, result.verdict
    ratio = number(verdict.ratio.value if verdict.ratio else None)
    cells = (*_latency(best.latency_ms), ratio, error(result.accuracy.max_rel_error))
    return (f"found by {best.origin}", *cells, f"against {label(result, verdict.against)}, in turns")


def _answer(result: RunResult) -> str:
    verdict, against = result.verdict, label(result, result.verdict.against)
    if verdict.status == Status.FASTER and verdict.ratio:
        gain = f"{1 - verdict.ratio.value:.0%}".replace("%", " %")
        return f"{_description(result)} takes {gain} less time than {against}: {_ratio(verdict.ratio)}."
    answer = label(result, result.best.origin)
    if verdict.ratio is None:
        return f"{answer} is the answer."
    if verdict.status == Status.SAME:
        return f"{answer} is the answer: the best other placement cannot be told from it, {_ratio(verdict.ratio)}."
    return f"{answer} is the answer: the best other placement is slower, {_ratio(verdict.ratio)}."


def _description(result: RunResult) -> str:
    best = result.best
    counts = {name: n for name, n in best.ops_per_device.items() if n}
    used = ", ".join(f"{n} operations on {label(result, name)}" for name, n in counts.items())
    if len(counts) == 1:
        return f"The placement ({used})"
    cut = f"{len(best.submodels)} submodels, {size(best.cut_bytes)} across"
    return f"The HETERO placement ({used}; {cut})"


def _against_default(result: RunResult, name: str, ratio: Interval) -> str:
    base, error_found = name.removesuffix(" (default precision)"), result.baseline(name).max_rel_error
    precision = next((device.default_precision for device in result.devices if device.base == base), "")
    said = f" ({precision})" if precision else ""
    off = f", whose outputs are off by {error(error_found)}" if error_found else ""
    return f"Against {base} at its default precision{said}: {_ratio(ratio)}{off}."


def _next_lines(result: RunResult) -> Iterator[str]:
    files = [path.name for path in RunFolder(result.folder).answer_files()]
    yield ""
    yield f"Left in {result.folder}: {', '.join(files)}"
    yield f"Load it:    python -c \"import ovplace; compiled = ovplace.load('{result.folder}')\""
    yield f"Other forms: ovplace export {result.folder} --to python|cpp|blob|netron|dot"


def _latency(found: Interval | None) -> tuple[str, str]:
    return (number(found.value), interval(found)) if found else ("-", "-")


def _ratio(ratio: Interval) -> str:
    return f"ratio {ratio.value:.3f} {interval(ratio)} ({100 * ratio.level:.0f} %)"


def interval(found: Interval) -> str:
    """Return an interval as text; a candidate that was given up early has but one sample."""
    if found.low == found.high:
        return "one sample"
    return f"[{number(found.low)}, {number(found.high)}]"


def number(value: float | None) -> str:
    """Return milliseconds or a ratio as text."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value < 100 else f"{value:.1f}"


def error(value: float | None) -> str:
    """Return a relative output error as text."""
    return "-" if value is None else f"{value:.1g}"
