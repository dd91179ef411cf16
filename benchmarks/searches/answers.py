"""The table of a suite's answers: how near the optimum they are, and when a placement that near was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.report import ResultTable
from benchmarks.searches.suite_file import Suite
from benchmarks.searches.tables import NEAR, SearchOutcome, grouped, middle, percent, spread

WITHIN = NEAR[-1]
"""Excess over the optimum that counts as having found it."""

SOON = 30
"""Measurements within which a placement that near should be among those asked for."""

PLACES = 12
"""Pairs of a model and a machine that have a row each, at most."""

_COLUMNS = (
    "variant",
    "model",
    "machine",
    "best baseline",
    f"asked in {SOON}",
    "first",
    "found",
    "found of those asked",
    "answered",
    "excess",
    "faster",
    "wrongly",
    "measured again",
)

_NOTE = (
    "Latencies are without noise; searches and comparisons have the machine's. After each search there {times}. "
    "*best baseline*: its excess over the optimum; *asked in {soon}*: searches in which a placement "
    "within {near} of the optimum was among the first {soon} measured, or is a baseline; *first*: its number, 0 for a "
    "baseline (median), a dash where half of the searches never measured one. *found*: comparisons whose placement, or "
    "the best baseline, is within {near} of the optimum; *found of those asked*: within {near} of the fastest "
    "placement that the search had measured; *answered*: whose answer is within {near} of the optimum, with its "
    "*excess* over it, median and, in brackets, the worst. *faster*: called faster than every baseline; *wrongly*: of "
    "these, no faster than the best baseline. *measured again*: candidates measured after the search, those of the "
    "final rounds included (median)."
)


def answers_table(suite: Suite, name: str, found: Sequence[SearchOutcome], where: str) -> ResultTable:
    """Return the table of the answers: a row for each variant over all places, then one for each place.

    Of many places there is a row for each machine, and one for each place where an answer is not near the optimum.

    Args:
        suite: whose searches made the final comparison.
        name: of its file.
        found: its searches.
        where: the machines.
    """
    rows = []
    for variant, of in grouped(found, lambda search: search.cell.variant):
        places = grouped(of, lambda search: (search.cell.model, search.cell.machine))
        many = len(places) > PLACES
        if len(places) > 1:
            rows.append((variant, "all", "all", *_cells(of)))
        for machine, here in grouped(of, lambda search: search.cell.machine) if many else ():
            rows.append((variant, "all", machine, *_cells(here)))
        rows += [(variant, *place, *_cells(group)) for place, group in places if not many or _is_missed(group)]
    file = f"{name.replace('_', '-')}-summary"
    return ResultTable(file, suite.title, _COLUMNS, tuple(rows), _note(suite.comparisons), where)


def _note(comparisons: int) -> str:
    one, many = (
        "is one final comparison",
        f"are {comparisons} final comparisons with noise of their own, which count one by one",
    )
    return _NOTE.format(times=one if comparisons == 1 else many, soon=SOON, near=percent(WITHIN))


def _cells(group: Sequence[SearchOutcome]) -> Iterator[str]:
    answers = [answer for search in group for answer in search.answers]
    yield spread([search.baseline for search in group])
    yield _share([_first(search) <= SOON for search in group])
    yield middle([_first(search) for search in group], "{:.0f}")
    yield _share([answer.found <= WITHIN for answer in answers])
    yield _share([answer.missed <= WITHIN for answer in answers])
    yield _share([answer.excess <= WITHIN for answer in answers])
    yield spread([answer.excess for answer in answers])
    yield _share([answer.faster for answer in answers])
    yield str(sum(answer.wrong for answer in answers))
    yield f"{np.median([answer.measured for answer in answers]):.0f}"


def _share(held: Sequence[bool]) -> str:
    return f"{sum(held)} of {len(held)}"


def _first(search: SearchOutcome) -> float:
    """Return the measurements until a placement was near the optimum: none where a baseline is."""
    return 0 if search.baseline <= WITHIN else search.measurements(WITHIN)


def _is_missed(group: Sequence[SearchOutcome]) -> bool:
    return any(answer.excess > WITHIN for search in group for answer in search.answers)
