"""The tables of a suite: excess over the optimum by measurements, for each variant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, TypeVar

import numpy as np

from benchmarks.report import ResultTable
from benchmarks.searches.suite_file import Suite
from ovplace.core.verdict import Status
from ovplace.experiments.grid import Cell

NEAR = (0.05, 0.01)
"""Latencies in excess of the optimum that count as near it."""

TIMED = 100
"""Placements for which the seconds of placers are compared."""

NONE = "–"  # noqa: RUF001 - a dash
Data = Mapping[str, Any]
Key = TypeVar("Key")
Outcomes = Sequence[tuple[Cell, Data]]


@dataclass(frozen=True)
class Answer:
    """The outcome of a final comparison; latencies are in excess of another one's, without noise.

    Attributes:
        excess: of the answer over the optimum.
        found: of the placement compared, or of the best baseline where that is faster, over the optimum.
        missed: of the same over the fastest placement measured in the search.
        faster: whether the verdict is that the placement is faster.
        wrong: whether it is so, and the placement is no faster than the best baseline.
        measured: candidates measured after the search, those beside others included.
    """

    excess: float
    found: float
    missed: float
    faster: bool
    wrong: bool
    measured: int


@dataclass(frozen=True)
class SearchOutcome:
    """A finished search compared with the optimum.

    Attributes:
        cell: the search.
        data: what its folder holds.
        optimum_ms: the latency it is compared with.
        from_reference: whether the fastest single device counts as measured before the search.
    """

    cell: Cell
    data: Data
    optimum_ms: float
    from_reference: bool

    def excess(self, budget: int) -> float:
        """Return the excess of the best of the first `budget` placements; infinite where none ran."""
        found = [ms for number, ms in self.data["asked"] if number <= budget]
        if self.from_reference:
            found.append(self.data["reference_ms"])
        return min(found, default=inf) / self.optimum_ms - 1

    def measurements(self, near: float) -> float:
        """Return the measurements until the optimum was that near; infinite for never."""
        return min((number for number, ms in self.data["asked"] if ms / self.optimum_ms - 1 <= near), default=inf)

    @property
    def answers(self) -> list[Answer]:
        """Those of the final comparisons."""
        simple_ms = float(self.data["baseline_ms"])
        best_ms = min([simple_ms, *(ms for _, ms in self.data["asked"])])
        return [
            Answer(
                excess=found["answer_ms"] / self.optimum_ms - 1,
                found=min(found["found_ms"], simple_ms) / self.optimum_ms - 1,
                missed=min(found["found_ms"], simple_ms) / best_ms - 1,
                faster=found["status"] == Status.FASTER,
                wrong=found["status"] == Status.FASTER and found["answer_ms"] >= simple_ms,
                measured=found["measured"],
            )
            for found in self.data["answers"]
        ]

    @property
    def baseline(self) -> float:
        """The excess of the best baseline."""
        return float(self.data["baseline_ms"] / self.optimum_ms - 1)

    @property
    def own_s(self) -> float:
        """Seconds of the placer until `TIMED` placements were measured, or until it ended."""
        own: Mapping[str, float] = self.data["own_s"]
        return own.get(str(TIMED), own["all"])


def suite_tables(suite: Suite, name: str, optima: Outcomes, searches: Outcomes) -> list[ResultTable]:
    """Return the tables of a suite: the optima, each machine over all models, and each model on each machine.

    Args:
        suite: what is compared.
        name: of its file.
        optima: the cells of the optima.
        searches: those of the searches.
    """
    found = compared(suite, optima, searches)
    tables = [
        ResultTable(
            _file_name(f"{name}-optima"), f"{suite.title}: optima", *optimum_rows(optima), "", simulated(optima)
        )
    ]
    for machine, here in grouped(found, lambda search: search.cell.machine):
        places = grouped(here, lambda search: search.cell.model)
        parts = [(f"{name}-{machine}", f"all models on {machine}", here)] if len(places) > 1 else []
        parts += [(f"{name}-{model}-{machine}", f"{model} on {machine}", of) for model, of in places]
        for file, where, group in parts:
            title = f"{suite.title}: {where} (simulated)"
            tables.append(
                ResultTable(_file_name(file), title, *search_rows(suite, group), suite.note, f"simulated: {machine}")
            )
    return tables


def compared(suite: Suite, optima: Outcomes, searches: Outcomes) -> list[SearchOutcome]:
    """Return the searches with the optimum of each, which is the fastest placement that the solvers or they found."""
    best = {(cell.model, cell.machine): float(data["optimum_ms"]) for cell, data in optima}
    for cell, data in searches:
        if data["asked"] and "optimum_ms" not in data:
            best[cell.model, cell.machine] = min(best[cell.model, cell.machine], data["asked"][-1][1])
    return [
        SearchOutcome(cell, data, data.get("optimum_ms", best[cell.model, cell.machine]), suite.from_reference)
        for cell, data in searches
    ]


def simulated(optima: Outcomes) -> str:
    """Return the names of the simulated machines."""
    return "simulated: " + ", ".join(dict.fromkeys(cell.machine for cell, _ in optima))


def optimum_rows(optima: Outcomes) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the columns and rows of the table of the optima."""
    columns = ("machine", "model", "inseparable groups", "optimum, ms", "at most below it", "fastest device alone")
    return columns, tuple(_optimum_row(cell, data) for cell, data in optima)


def _optimum_row(cell: Cell, data: Data) -> tuple[str, ...]:
    best_ms = data["optimum_ms"]
    gap, alone = 1 - data["bound_ms"] / best_ms, min(data["alone_ms"].values()) / best_ms - 1
    return cell.machine, cell.model, str(data["legal_groups"]), f"{best_ms:.3f}", percent(gap), f"+{percent(alone)}"


def search_rows(suite: Suite, found: Sequence[SearchOutcome]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the columns and rows of a table with a row for each variant."""
    last = max(suite.budgets)
    columns = ["variant", "searches", *map(str, suite.budgets), *(f"to {percent(near)}" for near in NEAR)]
    columns += [f"within {percent(NEAR[-1])}, {last}", *(["last 20"] if suite.last else [])]
    columns += [*(["answer"] if suite.comparisons else []), "failed", "own s"]
    return tuple(columns), tuple(tuple(_search_row(suite, *group)) for group in grouped(found, _variant))


def _search_row(suite: Suite, variant: str, group: Sequence[SearchOutcome]) -> Iterator[str]:
    yield variant
    yield str(len(group))
    for budget in suite.budgets:
        yield spread([search.excess(budget) for search in group])
    for near in NEAR:
        yield middle([search.measurements(near) for search in group], "{:.0f}")
    yield f"{sum(search.excess(max(suite.budgets)) <= NEAR[-1] for search in group)} of {len(group)}"
    if suite.last:
        yield spread([search.data["last_ms"] / search.optimum_ms - 1 for search in group])
    if suite.comparisons:
        yield spread([answer.excess for search in group for answer in search.answers])
    yield percent(float(np.median([search.data["failed"] for search in group])))
    yield middle([search.own_s for search in group], "{:.2f}")


def spread(values: Sequence[float]) -> str:
    """Return the median and, in brackets, the worst where that is another."""
    median, worst = percent(float(np.median(values))), percent(max(values))
    return median if median == worst else f"{median} ({worst})"


def middle(values: Sequence[float], form: str) -> str:
    """Return the lower median, a dash where it is infinite.

    Args:
        values: at least one.
        form: how a number is written, such as `{:.2f}`.
    """
    median = sorted(values)[(len(values) - 1) // 2]
    return form.format(median) if isfinite(median) else NONE


def percent(share: float) -> str:
    """Return a share in per cent, a dash where it is infinite."""
    if not isfinite(share):
        return NONE
    return f"{100 * max(share, 0.0):.1f} %" if share < 1 else f"{100 * share:.0f} %"


def _variant(search: SearchOutcome) -> str:
    return search.cell.variant


def grouped(
    found: Sequence[SearchOutcome], key: Callable[[SearchOutcome], Key]
) -> list[tuple[Key, list[SearchOutcome]]]:
    """Return the searches by a key, in the order in which the keys first appear.

    Args:
        found: the searches.
        key: returns that of a search.
    """
    groups: dict[Key, list[SearchOutcome]] = {}
    for search in found:
        groups.setdefault(key(search), []).append(search)
    return list(groups.items())


def _file_name(text: str) -> str:
    return "".join(character if character.isalnum() or character in "-+" else "-" for character in text)
