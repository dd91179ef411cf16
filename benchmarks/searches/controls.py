"""The table of variants against their controls, such as the same policy that learns nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.report import ResultTable
from benchmarks.searches.suite_file import Suite
from benchmarks.searches.tables import SearchOutcome, grouped
from ovplace.experiments.summary import ratio_summary


def searches_table(suite: Suite, name: str, found: Sequence[SearchOutcome], where: str) -> ResultTable:
    """Return the raw results: a row for each search.

    Args:
        suite: of the searches.
        name: of its file.
        found: its searches.
        where: the machines.
    """
    columns = ("variant", "model", "machine", "seed", "measured", "best asked", "last 20", "answer")
    rows = tuple(
        (
            search.cell.variant, search.cell.model, search.cell.machine, str(search.cell.seed),
            str(search.data["measured"]), f"{_best(suite, search):.4f}", f"{_last(search):.4f}",
            ", ".join(f"{1 + answer.excess:.4f}" for answer in search.answers),
        )
        for search in found
    )  # fmt: skip
    note = "Latency over the certified optimum, without noise."
    return ResultTable(f"{name.replace('_', '-')}-searches", f"{suite.title}: searches", columns, rows, note, where)


Pair = tuple[SearchOutcome, SearchOutcome]

_NOTE = (
    "Latency of the variant over that of its control, without noise: geometric mean over searches of the same seed, "
    "with Student's 95 % interval. *Best asked*: of the best placement asked for; *last 20*: of the median of the last "
    "20 asked for."
)


def controls_table(suite: Suite, name: str, found: Sequence[SearchOutcome], where: str) -> ResultTable:
    """Return the table: for each variant that has a control a row over all places, and one for each place.

    Args:
        suite: whose `controls` are named.
        name: of its file.
        found: its searches.
        where: the machines.
    """
    rows = []
    for variant, control in suite.controls.items():
        pairs = list(_pairs(found, variant, control))
        places = grouped([learned for learned, _ in pairs], lambda search: (search.cell.model, search.cell.machine))
        if len(places) > 1:
            rows.append((variant, control, "all", "all", *_cells(suite, pairs)))
        for place, _ in places:
            here = [pair for pair in pairs if (pair[0].cell.model, pair[0].cell.machine) == place]
            rows.append((variant, control, *place, *_cells(suite, here)))
    note = f"{_NOTE} {suite.control_note}"
    columns = ("variant", "control", "model", "machine", "pairs", "best asked", "last 20")
    return ResultTable(f"{name.replace('_', '-')}-controls", suite.title, columns, tuple(rows), note, where)


def _pairs(found: Sequence[SearchOutcome], variant: str, control: str) -> Iterator[Pair]:
    """Yield each search of a variant with that of its control, both of the same model, machine and seed."""
    controls = {_key(search): search for search in found if search.cell.variant == control}
    for search in found:
        if search.cell.variant == variant and _key(search) in controls:
            yield search, controls[_key(search)]


def _key(search: SearchOutcome) -> tuple[str, str, int]:
    return search.cell.model, search.cell.machine, search.cell.seed


def _cells(suite: Suite, pairs: Sequence[Pair]) -> Iterator[str]:
    yield str(len(pairs))
    yield _ratio([(_best(suite, learned), _best(suite, control)) for learned, control in pairs])
    yield _ratio([(_last(learned), _last(control)) for learned, control in pairs])


def _best(suite: Suite, search: SearchOutcome) -> float:
    return 1 + search.excess(max(suite.budgets))


def _last(search: SearchOutcome) -> float:
    return float(search.data["last_ms"] / search.optimum_ms)


def _ratio(pairs: Sequence[tuple[float, float]]) -> str:
    found = ratio_summary(pairs)
    assert found is not None
    interval = found["ci95"]
    return f"{found['value']:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")
