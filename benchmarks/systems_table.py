"""Tables of what `systems.py` found, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

BUDGETS = (20, 100, 500, 2000)

PROVEN = 1.001
"""Latency over the bound at which no figure of the tables can change any more."""

MIXED = 1.01
"""Latency of the fastest device alone over the optimum from which there is something to gain."""

NEAR = (0.05, 0.01)
"""Latencies over the optimum that count as near it."""


TIMED = 100
"""Placements for which the seconds of placers are compared: no search ends sooner but by itself."""


@dataclass(frozen=True)
class Found:
    """One search beside the optimum.

    Attributes:
        placer: with its preset.
        model: what was placed.
        machine: where.
        budget: placements that could be measured; infinite where the placer ended by itself.
        asked: (number, latency over the optimum minus 1) of each measurement that was the best so far.
        measured: placements measured.
        own_s: seconds of the placer, by placements measured, and of all.
        stopped: whether it would have gone on: its budget was spent, or it had found the optimum.
    """

    placer: str
    model: str
    machine: str
    budget: float
    asked: tuple[tuple[int, float], ...]
    measured: int
    own_s: Mapping[str, float]
    stopped: bool = False

    def over(self, budget: int) -> float:
        """Return the best of the first `budget` measurements; infinite where none ran."""
        return min((value for number, value in self.asked if number <= budget), default=inf)

    def measurements(self, near: float) -> float:
        """Return the measurements until the optimum was that near; infinite for never."""
        return min((number for number, value in self.asked if value <= near), default=inf)

    def seconds_to(self, budget: int) -> float:
        """Return the placer's seconds until then, or until it ended; infinite where it was stopped before."""
        return self.own_s.get(str(budget), inf if self.stopped or budget < self.measured else self.own_s["all"])


def tables(rows: Sequence[Mapping[str, Any]], budgets: Sequence[int]) -> str:
    """Return a table for each machine, one for each model on which there is something to gain, and the errors."""
    optima = best_known(rows)
    found = searches(rows, optima)
    machines = list(dict.fromkeys(search.machine for search in found))
    parts = ["## Optima", *optimum_table(optima), "", "## All models"]
    for machine in machines:
        here = [search for search in found if search.machine == machine]
        parts += ["", f"### {machine}", "", *overview(here, budgets)]
    parts += ["", "## Where several devices are needed"]
    for model, machine in [key for key, best in optima.items() if best["alone_ms"] > MIXED * best["optimum_ms"]]:
        here = [search for search in found if (search.model, search.machine) == (model, machine)]
        parts += ["", f"### {model} on {machine}", "", *by_budget(here, budgets)]
    return "\n".join([*parts, "", *errors(rows)])


def budget_of(row: Mapping[str, Any], bound_ms: float) -> float:
    """Return the largest budget that a search answers for: any, where it ended by itself or found the optimum."""
    return inf if row["ended"] not in ("budget", "enough") or found_it(row, bound_ms) else row["search"]["budget"]


def found_it(row: Mapping[str, Any], bound_ms: float) -> bool:
    """Return whether a search measured a placement that is optimal, as far as the tables show."""
    return bool(row["asked"]) and row["asked"][-1][1] <= PROVEN * bound_ms


def best_known(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the optima by model and machine; where a search found something better, that instead."""
    optima = {(o["model"], o["machine"]): dict(o) for o in (row["optimum"] for row in rows if "optimum" in row)}
    for row in rows:
        what = row.get("search", {})
        best = optima.get((what.get("model"), what.get("machine")))
        if best and row.get("asked"):
            best["optimum_ms"] = min(best["optimum_ms"], row["asked"][-1][1])
    return optima


def searches(rows: Sequence[Mapping[str, Any]], optima: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[Found]:
    """Return the searches, the longest of each; those on a model without a known optimum are left out."""
    longest: dict[tuple[object, ...], Found] = {}
    for row in rows:
        what = row.get("search", {})
        best = optima.get((what.get("model"), what.get("machine")))
        if "asked" in row and best:
            asked = tuple((number, ms / best["optimum_ms"] - 1) for number, ms in row["asked"])
            place = what["placer"], what["model"], what["machine"]
            budget, stopped = budget_of(row, best["bound_ms"]), row["ended"] in ("budget", "enough")
            search = Found(*place, budget, asked, row["measured"], row["own_s"], stopped)
            before = longest.get((*place, what["seed"]))
            if before is None or before.budget <= search.budget:
                longest[*place, what["seed"]] = search
    return sorted(longest.values(), key=lambda search: search.placer)


def optimum_table(optima: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of what there is to find."""
    yield ""
    yield from head("machine", "model", "legal groups", "optimum, ms", "at most below it", "fastest device alone")
    for (model, machine), best in sorted(optima.items(), key=lambda item: item[0][::-1]):
        gap, alone = 1 - best["bound_ms"] / best["optimum_ms"], best["alone_ms"] / best["optimum_ms"] - 1
        proven, ms = percent(max(gap, 0.0)), f"{best['optimum_ms']:.3f}"
        yield line(machine, model, str(best["legal_groups"]), ms, proven, f"+{percent(max(alone, 0.0))}")


def overview(found: Sequence[Found], budgets: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table with a row for each placer, over all models and seeds."""
    last = max(budgets)
    yield from head("placer", "searches", *map(str, budgets), *NEARS, f"within 1 %, {last}", f"own s, {TIMED}")
    for placer, group in grouped(found):
        within = sum(search.over(last) <= NEAR[-1] for search in group)
        known = [value for value in (search.seconds_to(TIMED) for search in group) if isfinite(value)]
        share = f"{within} of {len(group)}" if all(search.budget >= last for search in group) else ""
        yield line(placer, str(len(group)), *curve(group, budgets), share, middle(known, "{:.2f}"))


def by_budget(found: Sequence[Found], budgets: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table of one model on one machine, over seeds."""
    yield from head("placer", *map(str, budgets), *NEARS)
    for placer, group in grouped(found):
        yield line(placer, *curve(group, budgets))


def curve(group: Sequence[Found], budgets: Sequence[int]) -> Iterator[str]:
    """Yield the cells of searches by budget, empty where one of them was shorter, and how soon they were near."""
    for budget in budgets:
        whole = all(search.budget >= budget for search in group)
        yield spread([search.over(budget) for search in group]) if whole else ""
    for share in NEAR:
        yield middle([search.measurements(share) for search in group], "{:.0f}")


def grouped(found: Sequence[Found]) -> Iterator[tuple[str, list[Found]]]:
    """Yield the searches of each placer."""
    for placer in dict.fromkeys(search.placer for search in found):
        yield placer, [search for search in found if search.placer == placer]


def errors(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the searches that failed and were not repeated since."""
    last: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if "search" in row:
            last[str({name: value for name, value in row["search"].items() if name != "budget"})] = row
    failed = [row for row in last.values() if "error" in row]
    if failed:
        yield from ("## Failed", "")
    for row in failed:
        what = row["search"]
        yield f"* {what['placer']}, {what['model']}, {what['machine']}, seed {what['seed']}: {row['error']}"


def spread(values: Sequence[float]) -> str:
    """Return the median and, in brackets, the worst where that is another."""
    if not values:
        return ""
    median, worst = percent(float(np.median(values))), percent(max(values))
    return median if median == worst else f"{median} ({worst})"


def middle(values: Sequence[float], form: str) -> str:
    """Return the median, a dash where it is infinite."""
    if not values:
        return ""
    median = sorted(values)[(len(values) - 1) // 2]
    return form.format(median) if isfinite(median) else "–"  # noqa: RUF001 - a dash


def percent(share: float) -> str:
    if not isfinite(share):
        return "–"  # noqa: RUF001 - a dash
    return f"{100 * max(share, 0.0):.1f} %" if share < 1 else f"{100 * share:.0f} %"


NEARS = [f"to {percent(share)}" for share in NEAR]


def head(*names: str) -> Iterator[str]:
    """Yield the first two lines of a table."""
    yield line(*names)
    yield line(*("---" for _ in names))


def line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
