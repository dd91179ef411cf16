"""The result of a run as text: the table, the verdict in words, what to do next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import click

from ovplace.api import Run
from ovplace.cli.output.tables import show, size

FILES = ("placed.xml", "placed.bin", "placement.json", "result.json", "report.html")
_HEADER = ("placement", "median ms", "95 % interval", "ratio", "output error", "remark")

Data = dict[str, Any]


def show_result(done: Run) -> None:
    """Print a finished run."""
    data = done.data
    best = [_best_row(data)] if done.verdict["status"] == "faster" else []
    show(_HEADER, [*(_row(data, b) for b in data["baselines"]), *best], right=(1, 2, 3, 4))
    click.echo()
    for line in (*verdict_lines(data), *_next_lines(done)):
        click.echo(line)


def verdict_lines(data: Data) -> Iterator[str]:
    """Yield the verdict in plain sentences."""
    verdict = data["verdict"]
    yield _answer(data)
    if machine := _machine(data):
        yield f"All figures are simulated, on the machine {machine}; no inference was run."
    for name, default in verdict["defaults"].items():
        if default and verdict["status"] == "faster":
            yield _against_default(data, name, default)
    if null := verdict["null_control"]:
        base = label(data, verdict["against"])
        found = _ratio(null["ratio"], null["ci95"])
        yield f"Null control, the same cut between {base} and an identical {base}: {found}."
    for note in verdict["notes"]:
        yield f"Note: {note}."


def label(data: Mapping[str, Any], name: str) -> str:
    """Return a device's or a baseline's name in which emulated and simulated devices are called that."""
    simulated = _machine(data)
    for device in data["devices"]:
        if word := "emulated" if device["emulated"] else "simulated" if simulated else "":
            name = re.sub(rf"(?<![\w.]){re.escape(device['name'])}(?![\w.])", f"{device['name']} ({word})", name)
    return name


def _machine(data: Mapping[str, Any]) -> str:
    """Return the name of the simulated machine, "" where the figures are measured."""
    return str(data.get("environment", {}).get("simulated", ""))


def _row(data: Data, baseline: Data) -> tuple[str, ...]:
    found, mark = baseline["latency_ms"], "" if baseline["competes"] else "does not compete"
    name = label(data, baseline["name"])
    if not found:
        return name, "-", "-", "-", "-", " ".join(str(baseline["error"]).split())[:100]
    chosen = f"runs on {_runs_on(data, baseline)}" if baseline["name"].startswith("AUTO") else ""
    cells = (*_latency(found), number(baseline["ratio"]), error(baseline["max_rel_error"]))
    return (name, *cells, ", ".join(filter(None, (mark, chosen))))


def _runs_on(data: Data, baseline: Data) -> str:
    """Return what AUTO chose; the GPU plugin calls itself `GPU.0` even where there is but one `GPU`."""
    known = [device["name"] for device in data["devices"]]
    names = baseline["runs_on"].split(",")
    return ", ".join(label(data, name if name in known else name.removesuffix(".0")) for name in names)


def _best_row(data: Data) -> tuple[str, ...]:
    worst = max((output["max_rel"] for output in data["accuracy"]["outputs"]), default=None)
    cells = (*_latency(data["best"]["latency_ms"]), number(data["verdict"]["ratio"]), error(worst))
    return (
        f"found by {data['best']['origin']}",
        *cells,
        f"against {label(data, data['verdict']['against'])}, in turns",
    )


def _answer(data: Data) -> str:
    verdict, best, against = data["verdict"], data["best"], label(data, data["verdict"]["against"])
    if verdict["status"] == "faster":
        gain = f"{1 - verdict['ratio']:.0%}".replace("%", " %")
        return (
            f"{_description(data)} takes {gain} less time than {against}: {_ratio(verdict['ratio'], verdict['ci95'])}."
        )
    answer = label(data, best["origin"])
    if verdict["ratio"] is None:
        return f"{answer} is the answer."
    found = _ratio(verdict["ratio"], verdict["ci95"])
    if verdict["status"] == "same":
        return f"{answer} is the answer: the best other placement cannot be told from it, {found}."
    return f"{answer} is the answer: the best other placement is slower, {found}."


def _description(data: Data) -> str:
    best = data["best"]
    counts = {name: n for name, n in best["ops_per_device"].items() if n}
    used = ", ".join(f"{n} operations on {label(data, name)}" for name, n in counts.items())
    if len(counts) == 1:
        return f"The placement ({used})"
    cut = f"{len(best['submodels'])} submodels, {size(best['cut_bytes'])} across"
    return f"The HETERO placement ({used}; {cut})"


def _against_default(data: Data, name: str, found: Data) -> str:
    base = name.removesuffix(" (default precision)")
    baseline = next(b for b in data["baselines"] if b["name"] == name)
    precision = next((d["default_precision"] for d in data["devices"] if d["base"] == base), "")
    said = f" ({precision})" if precision else ""
    off = f", whose outputs are off by {error(baseline['max_rel_error'])}" if baseline["max_rel_error"] else ""
    return f"Against {base} at its default precision{said}: {_ratio(found['ratio'], found['ci95'])}{off}."


def _next_lines(done: Run) -> Iterator[str]:
    left = [name for name in FILES if (done.folder / name).exists()]
    yield ""
    yield f"Left in {done.folder}: {', '.join(left)}"
    yield f"Load it:    python -c \"import ovplace; compiled = ovplace.load('{done.folder}')\""
    yield f"Other forms: ovplace export {done.folder} --to python|cpp|blob|netron|dot"


def _latency(found: Data) -> tuple[str, str]:
    return number(found["median"]), interval(found["ci95"])


def _ratio(value: float, ci95: list[float]) -> str:
    return f"ratio {value:.3f} {interval(ci95)}"


def interval(ci95: list[float]) -> str:
    """Return an interval as text; a hopeless candidate has but one sample."""
    if ci95[0] == ci95[1]:
        return "one sample"
    return f"[{number(ci95[0])}, {number(ci95[1])}]"


def number(value: float | None) -> str:
    """Return milliseconds or a ratio as text."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value < 100 else f"{value:.1f}"


def error(value: float | None) -> str:
    """Return a relative output error as text."""
    return "-" if value is None else f"{value:.1g}"
