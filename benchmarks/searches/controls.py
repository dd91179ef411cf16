"""The raw results of a suite, and variants against their controls, such as the same policy that learns nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import ResultTable
from benchmarks.searches.suite_file import Suite
from benchmarks.searches.tables import NEAR, SearchOutcome, percent, spread
from ovplace.experiments.summary import ratio_summary

_COLUMNS = ("variant", "model", "machine", "seed", "measured", "best asked", "last 20", "answer")


def searches_table(suite: Suite, name: str, found: Sequence[SearchOutcome], where: str) -> ResultTable:
    """Return the raw results: a row for each search.

    Args:
        suite: of the searches.
        name: of its file.
        found: its searches.
        where: the machines.
    """
    rows = tuple(
        (
            search.cell.variant, search.cell.model, search.cell.machine, str(search.cell.seed),
            str(search.data["measured"]), f"{1 + search.excess(max(suite.budgets)):.4f}",
            f"{search.data['last_ms'] / search.optimum_ms:.4f}",
            ", ".join(f"{1 + answer.excess:.4f}" for answer in search.answers),
        )
        for search in found
    )  # fmt: skip
    return _searches(suite, name, rows, where)


def stored_searches(suite: Suite, name: str, files: Iterable[Path]) -> ResultTable:
    """Return the raw results in some files together; of the same search, the row of the last file counts.

    Args:
        suite: of the searches.
        name: of its file.
        files: tables of `searches_table` as JSON.
    """
    rows: dict[tuple[str, ...], tuple[str, ...]] = {}
    for file in files:
        for row in json.loads(file.read_text(encoding="utf-8"))["rows"]:
            rows[tuple(row[:4])] = tuple(row)
    machines = dict.fromkeys(row[2] for row in rows.values())
    return _searches(suite, name, tuple(rows.values()), f"simulated: {', '.join(machines)}")


def _searches(suite: Suite, name: str, rows: tuple[tuple[str, ...], ...], where: str) -> ResultTable:
    note = f"Latency over the certified optimum, without noise. {_OPTIMA}"
    return ResultTable(f"{name.replace('_', '-')}-searches", f"{suite.title}: searches", _COLUMNS, rows, note, where)


def places_tables(suite: Suite, name: str, searches: ResultTable) -> list[ResultTable]:
    """Return a table for each model and machine: what the searches of each variant came to in the end.

    Args:
        suite: of the searches.
        name: of its file.
        searches: the raw results.
    """
    places = list(dict.fromkeys((row[1], row[2]) for row in searches.rows))
    return [_place_table(suite, name, place, [row for row in searches.rows if row[1:3] == place]) for place in places]


def _place_table(suite: Suite, name: str, place: tuple[str, str], found: Sequence[tuple[str, ...]]) -> ResultTable:
    variants = dict.fromkeys(row[0] for row in found)
    rows = tuple(_place_row(variant, [row for row in found if row[0] == variant]) for variant in variants)
    file = "-".join([name.replace("_", "-"), *(part.replace(" ", "-").replace("=", "-") for part in place), "ends"])
    title = f"{suite.title}: {place[0]} on {place[1]} (simulated)"
    near = f"within {percent(NEAR[-1])}"
    return ResultTable(
        file, title, ("variant", "searches", "best asked", near, "last 20", "answer"), rows, _ENDS, place[1]
    )


def _place_row(variant: str, found: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    best, last, answer = ([float(row[at].split(",")[0]) - 1 for row in found] for at in (5, 6, 7))
    near = f"{sum(excess <= NEAR[-1] for excess in best)} of {len(found)}"
    return variant, str(len(found)), spread(best), near, spread(last), spread(answer)


class _Search(NamedTuple):
    """A search; latencies are over that of the optimum, without noise."""

    variant: str
    place: tuple[str, str]
    seed: str
    best: float
    last: float


_OPTIMA = (
    "The optimum is the fastest placement that the solvers or the searches of the same call found; optima of separate "
    "calls differ by up to 0.2 %."
)

_ENDS = (
    "Excess over the certified optimum, without noise, once the budget was spent: of the best placement asked for, of "
    "the median of the last 20 asked for (what the policy has become), and of the answer of the final comparison; "
    f"median over seeds and, in brackets, the worst; the best is not shown. {_OPTIMA}"
)

_NOTE = (
    "Latency of the variant over that of its control, without noise: geometric mean over searches of the same seed, "
    "with Student's 95 % interval. *Best asked*: of the best placement asked for; *last 20*: of the median of the last "
    "20 asked for. A row of *all* takes all searches as one sample: its interval says nothing of other models and "
    "machines."
)


def controls_table(suite: Suite, name: str, searches: ResultTable) -> ResultTable:
    """Return the table: for each variant that has a control a row over all places, and one for each place.

    Args:
        suite: whose `controls` are named.
        name: of its file.
        searches: the raw results.
    """
    found = [_Search(row[0], (row[1], row[2]), row[3], float(row[5]), float(row[6])) for row in searches.rows]
    rows = []
    for variant, control in suite.controls.items():
        pairs = list(_pairs(found, variant, control))
        places = list(dict.fromkeys(learned.place for learned, _ in pairs))
        if len(places) > 1:
            rows.append((variant, control, "all", "all", *_cells(pairs)))
        for place in places:
            rows.append((variant, control, *place, *_cells([pair for pair in pairs if pair[0].place == place])))
    note = f"{_NOTE} {suite.control_note}"
    columns = ("variant", "control", "model", "machine", "pairs", "best asked", "last 20")
    file = f"{name.replace('_', '-')}-controls"
    return ResultTable(file, suite.title, columns, tuple(rows), note, searches.machine)


def _pairs(found: Sequence[_Search], variant: str, control: str) -> Iterator[tuple[_Search, _Search]]:
    """Yield each search of a variant with that of its control, both of the same model, machine and seed."""
    controls = {(search.place, search.seed): search for search in found if search.variant == control}
    for search in found:
        if search.variant == variant and (search.place, search.seed) in controls:
            yield search, controls[search.place, search.seed]


def _cells(pairs: Sequence[tuple[_Search, _Search]]) -> Iterator[str]:
    yield str(len(pairs))
    yield ratio_text([(learned.best, control.best) for learned, control in pairs])
    yield ratio_text([(learned.last, control.last) for learned, control in pairs])


def ratio_text(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the geometric mean of the pairs' ratios, and Student's 95 % interval where there are several."""
    found = ratio_summary(pairs)
    assert found is not None
    interval = found["ci95"]
    return f"{found['value']:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")
