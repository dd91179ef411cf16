"""The table of an ablation as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ovplace.core.result.labels import mean_count, number
from ovplace.core.text.markdown_table import pipe_table
from ovplace.report.ablation import by_place

Data = Mapping[str, Any]


def header(data: Data) -> tuple[str, ...]:
    """Return the columns of the tables."""
    to_base = f"to {_base(data)}"
    return "variant", "runs", "latency ms", to_base, "to best device", "best found", "faster", "measured", "groups"


def tables(cells: Sequence[Data]) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield a title and rows for each model and machine; the columns are those of `header`."""
    for title, of in by_place(cells):
        yield title, [_row(cell) for cell in of]


def notes(data: Data) -> Iterator[str]:
    """Yield the notes below the tables."""
    yield (
        "Means over seeds with 95 % intervals; ratios are geometric means, "
        f"those to the variant '{_base(data)}' paired by seed. "
        "'best found': the best placement on several devices over the best device, answer or not. "
        "'faster': runs whose answer is proven faster than every baseline. "
        "'groups': how many groups the placer formed in its last step, where it reports them."
    )
    kinds = {cell["noise_free"] for cell in data["cells"]} - {None}
    if True in kinds:
        yield "Simulated latencies are those of the cost model, without noise; no inference was run for them."
    if False in kinds:
        yield "Measured latencies are medians of each run's final comparison; compare ratios rather than latencies."
    unfinished = sum(run["status"] == "open" for run in data["runs"])
    if unfinished:
        yield f"{unfinished} of {len(data['runs'])} runs are not finished."


def failures(data: Data) -> Iterator[str]:
    """Yield a line for each run that failed."""
    for run in data["runs"]:
        if run["status"] == "failed":
            yield f"{run['variant']}, {run['model']}, {run['machine']}, seed {run['seed']}: {run['error']}"


def markdown(data: Data) -> str:
    """Return the whole page."""
    lines = [f"# Ablation {data['name']}", ""]
    for title, rows in tables(data["cells"]):
        lines += [f"## {title}", "", pipe_table(header(data), rows), ""]
    lines += [*notes(data), ""]
    failed = list(failures(data))
    if failed:
        lines += ["## Failed", "", *(f"- {text}" for text in failed), ""]
    return "\n".join(lines)


def _base(data: Data) -> str:
    """Return the name of the variant that changes nothing."""
    name: str = data["cells"][0]["variant"]
    return name


def _row(cell: Data) -> tuple[str, ...]:
    done = cell["finished"]
    return (
        cell["variant"],
        f"{done}/{cell['runs']}" + (f", {cell['failed']} failed" if cell["failed"] else ""),
        _estimate(cell["latency_ms"]),
        _estimate(cell["to_full"]),
        _estimate(cell["to_single"]),
        _estimate(cell["found_to_single"]),
        f"{cell['faster']}/{done}" if done else "-",
        mean_count(cell["measured"]),
        mean_count(cell["info"].get("groups")),
    )


def _estimate(found: Data | None) -> str:
    if found is None:
        return "-"
    interval = f" [{number(found['ci95'][0])}, {number(found['ci95'][1])}]" if found["ci95"] else ""
    return f"{number(found['value'])}{interval}"
