"""All placers on simulated machines, at equal numbers of measurements: one JSON line a search, and tables of them.

    python benchmarks/systems.py --resume systems.jsonl [--jobs 2] [--seeds 5] [--budgets 20 100 500]
    python benchmarks/systems.py --resume systems.jsonl --placers hsdag hsdag:paper random --models unet
    python benchmarks/systems.py --resume systems.jsonl --table

A placer goes by its name and has its default settings; `NAME:PRESET` is one with a preset. Every placer places the
groups of the coarsener `chains`, and gets a problem as a run gives it. Placers that need costs get the simulated
machine's own, without noise. No placer knows its budget, so that one search to the largest one gives the smaller ones,
too. Measurements have the machine's noise, each in turns with the fastest single device; the noise of a search depends
on nothing but its seed.

A search that measured a placement within 0.1 % of a proven bound ends after a multiple of 100: nothing is left to find.

Searches that the file has are not repeated, except those that failed. Lines with `optimum` are of the best placement
of legal groups that a mixed-integer program of the full cost model finds in a minute, beside a minimum cut where there
are two devices, and of the bound below which no placement is. Where that is not proven and a search finds something
faster, the tables compare with that.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from simulated_play import (
    Arm,
    Measure,
    Place,
    Played,
    apart,
    backend,
    build,
    model_of,
    one_thread,
    optimum,
    play,
    true_ms,
    workers,
)
from systems_table import BUDGETS, PROVEN, budget_of, tables

from ovplace import zoo
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.plugins import registry

MODELS = ("inception-v3", "resnet-50", "bert-base", "unet", "detector-head", "decoder")
"""On i9-12900k+flex170 the last two, on core-ultra `unet` and `detector-head` are fastest on several devices."""

LEAST = 100
"""Placements measured in any case, so that the seconds of all placers compare, and between two looks."""

MACHINES = ("i9-12900k+flex170", "core-ultra", "null")

Row = dict[str, Any]


@dataclass(frozen=True)
class Search:
    """One search; `placer` may have a preset behind a colon."""

    placer: str
    model: str
    machine: str
    seed: int
    budget: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What tells it from all but longer and shorter ones."""
        return self.placer, self.model, self.machine, self.seed

    @property
    def arm(self) -> Arm:
        """What is played."""
        name, _, preset = self.placer.partition(":")
        return Arm(name, self.budget, settings={"preset": preset} if preset else {})


def main() -> None:
    arguments = parsed()
    file: Path = arguments.resume
    if arguments.table:
        print(tables(rows(file), arguments.budgets))
        return
    with tempfile.TemporaryDirectory() as folder:
        build(arguments.models, Path(folder))
        try:
            Bench(Path(folder), file, arguments.jobs, arguments.time_limit).run(wanted(arguments))
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.terminate()
            print(f"stopped; the same command goes on with '{file}'", file=sys.stderr)
            sys.exit(130)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resume", type=Path, default=Path("systems.jsonl"), metavar="FILE", help="what there is")
    parser.add_argument("--placers", nargs="+", default=registry.names("placers"))
    parser.add_argument("--models", nargs="+", choices=zoo.names(), default=list(MODELS))
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each mixed-integer program")
    parser.add_argument("--table", action="store_true", help="print tables of what the file has, and do nothing else")
    return parser.parse_args()


def wanted(arguments: argparse.Namespace) -> Iterator[Search]:
    """Yield the searches, seed by seed, so that an interrupted benchmark has something of all."""
    orders = range(arguments.seeds), arguments.machines, arguments.models, arguments.placers
    for seed, machine, model, placer in product(*orders):
        yield Search(placer, model, machine, seed, max(arguments.budgets))


def rows(file: Path) -> list[Row]:
    """Return what the file has; a line cut off by a crash is left out."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            print(f"a broken line of '{file}' is left out", file=sys.stderr)
    return found


class Bench:
    """The processes that search, and the file of what they found."""

    def __init__(self, folder: Path, file: Path, jobs: int, time_limit_s: float) -> None:
        """Read what there is, and start no process yet."""
        self._folder, self._file, self._jobs, self._time_limit_s = folder, file, jobs, time_limit_s
        self._pool = self._new_pool()
        known = rows(file)
        optima = [row["optimum"] for row in known if "optimum" in row]
        self._bounds_ms = {(best["model"], best["machine"]): best["bound_ms"] for best in optima}
        self._budgets: dict[tuple[str, str, str, int], float] = {}
        for row in known:
            if "asked" in row:
                search = Search(**row["search"])
                self._budgets[search.key] = budget_of(row, self._bounds_ms.get((search.model, search.machine), 0.0))

    def run(self, searches: Iterator[Search]) -> None:
        """Do what is missing, and write each line when it is known."""
        running: dict[Future[Row], Search] = {}
        for search in searches:
            bound_ms = self._bound_ms(search)
            if self._budgets.get(search.key, 0) < search.budget:
                running[self._submit(searched, self._place(search), search, bound_ms)] = search
            while len(running) >= self._jobs:
                running = self._collected(running)
        while running:
            running = self._collected(running)

    def _place(self, search: Search) -> Place:
        return Place(str(self._folder), search.model, search.machine)

    def _new_pool(self) -> ProcessPoolExecutor:
        return workers(self._jobs, prepare_process)

    def _submit(self, work: Callable[..., Row], *arguments: object) -> Future[Row]:
        try:
            return self._pool.submit(work, *arguments)
        except BrokenProcessPool:
            # A process that is killed, for want of memory as a rule, takes its pool along.
            self._pool = self._new_pool()
            return self._pool.submit(work, *arguments)

    def _bound_ms(self, search: Search) -> float:
        """Return what no placement is faster than; find the optimum first, unless it is known."""
        key = search.model, search.machine
        if key not in self._bounds_ms:
            row = self._submit(solved, self._place(search), self._time_limit_s).result()
            self._bounds_ms[key] = row["optimum"]["bound_ms"]
            self._write(row)
        return self._bounds_ms[key]

    def _collected(self, running: Mapping[Future[Row], Search]) -> dict[Future[Row], Search]:
        """Wait for one search at least, write it down, and return the others."""
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            search = running[future]
            try:
                row = future.result()
            except BrokenProcessPool:
                row = failed(search, "a process of the benchmark was killed")
            self._write(row)
        return {future: search for future, search in running.items() if future not in done}

    def _write(self, row: Row) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps({name: row[name] for name in row if name not in ("asked", "picked")}), file=sys.stderr)


def prepare_process() -> None:
    """Leave Ctrl-C to the process that writes the file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    one_thread()


def searched(place: Place, search: Search, bound_ms: float) -> Row:
    """Search once."""
    start = time.perf_counter()
    try:
        with apart(place) as own:
            played = play(place, search.arm, backend(own, search.seed), search.seed, NothingLeft(place, bound_ms))
    except Exception as error:  # whatever a placer does is a line of the file
        return failed(search, " ".join(f"{type(error).__name__}: {error}".split())[:300])
    wall_s = round(time.perf_counter() - start, 2)
    return {"search": asdict(search), **outcome(place, played), "wall_s": wall_s}


class NothingLeft:
    """Tells whether a placement was measured that is optimal, as far as the tables show."""

    def __init__(self, place: Place, bound_ms: float) -> None:
        """Look at nothing yet."""
        self._place, self._enough_ms, self._looked_at, self._found = place, PROVEN * bound_ms, 0, False

    def __call__(self, measure: Measure) -> bool:
        """Look at what was measured since; many placements at a time, which is faster."""
        if len(measure.known) >= self._looked_at + LEAST:
            new = list(measure.known.values())[self._looked_at :]
            ran = [trial.placement for trial in new if np.isfinite(trial.ratio)]
            self._found = self._found or bool(ran and (true_ms(self._place, ran) <= self._enough_ms).any())
            self._looked_at = len(measure.known)
        return self._found


def failed(search: Search, text: str) -> Row:
    return {"search": asdict(search), "error": text}


def outcome(place: Place, played: Played) -> Row:
    """Return how the best placement became better: pairs of placements measured and latency without noise.

    `asked` is the fastest of those measured, `picked` the one whose measured ratio is the lowest.
    """
    trials = list(played.measure.known.values())
    ratios = np.array([trial.ratio for trial in trials])
    latencies = np.where(np.isfinite(ratios), true_ms(place, [trial.placement for trial in trials]), np.inf)
    asked = np.minimum.accumulate(latencies)
    picked = latencies[[int(ratios[: i + 1].argmin()) for i in range(len(ratios))]]
    return {
        "measured": len(trials),
        "ended": played.ended,
        "own_s": {budget: round(own_s(played, budget), 3) for budget in BUDGETS if budget <= len(trials)}
        | {"all": round(played.total_s, 3)},
        "asked": steps(asked),
        "picked": steps(picked),
    }


def own_s(played: Played, budget: int) -> float:
    """Return the placer's seconds until that many placements were measured."""
    return played.own_s[int(np.searchsorted(played.counts, budget))]


def steps(values: Sequence[float] | np.ndarray) -> list[tuple[int, float]]:
    """Return (number, value) where a curve changes, numbers from 1 on."""
    array = np.asarray(values)
    changed = np.flatnonzero(np.diff(array, prepend=np.nan) != 0)
    return [(int(i) + 1, round(float(array[i]), 6)) for i in changed if np.isfinite(array[i])]


def solved(place: Place, time_limit_s: float) -> Row:
    """Return the certified optimum, and the fastest single device."""
    graph, _, table = model_of(place)
    best_ms, bound_ms = optimum(place, time_limit_s)
    alone = latency_ms(table, np.arange(table.n_devices)[:, None] * np.ones((1, table.n_groups), dtype=np.int64))
    about = {"model": place.model, "machine": place.machine, "operations": len(graph), "legal_groups": table.n_groups}
    figures = {"optimum_ms": best_ms, "bound_ms": bound_ms, "alone_ms": float(alone.min())}
    return {"optimum": about | {name: round(value, 6) for name, value in figures.items()}}


if __name__ == "__main__":
    main()
