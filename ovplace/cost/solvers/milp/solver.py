"""Exact placements by mixed-integer programming: any number of devices, memory limits, overhead of submodels.

The pairwise model is one program. The full model's overhead is not linear in the placement: a relaxation
(`forest_relaxation.py`) gives a bound, the placement that attains it is counted exactly, and where the relaxation
counted less, rows that it violates are added and the program is solved again. This is the combinatorial Benders scheme
of Codato and Fischetti (Operations Research 54, 2006), with cuts of the region or loop at fault instead of the whole
placement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from time import perf_counter

import numpy as np

from ovplace.core.certificate import FULL, PAIRWISE, Certificate
from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.folding import folded, left_out
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.evaluate.terms import SubmodelOverhead
from ovplace.cost.solvers.local_descent import local_descent
from ovplace.cost.solvers.milp.forest_relaxation import ForestRelaxation
from ovplace.cost.solvers.milp.lazy_cuts import add_lazy_cuts
from ovplace.cost.solvers.milp.program import Outcome, Program
from ovplace.cost.solvers.simple_bound import simple_bound_ms
from ovplace.cost.solvers.solution import Solution
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import FloatArray, IntArray

_ENOUGH = 1e-9
"""Relative gap that counts as none: HiGHS' own absolute tolerance at the scale that programs are given."""

WORTH = 0.02
"""By how much a fractional solution must violate a row to be worth another linear program, which takes 0.1 s."""

_FITTING_S = 10.0
"""Time for finding any placement that fits into memory, whatever the time limit."""


@dataclass(eq=False)
class _Search:
    """The best placement and the best bound so far.

    Attributes:
        table: the costs.
        model: model that is minimised, `PAIRWISE` or `FULL`.
        gap: relative difference of value and bound that is good enough.
        device_of: the best placement, `[G]`.
        value_ms: its value.
        bound_ms: no placement's value is lower.
    """

    table: CostTable
    model: str
    gap: float
    device_of: IntArray = field(init=False)
    value_ms: float = inf
    bound_ms: float = -inf

    def offer(self, choices: IntArray) -> None:
        """Keep the best of the placements `[B, G]` if it is better, and fits."""
        evaluate = latency_ms if self.model == FULL else pairwise_ms
        values = np.where(self.table.fits(choices), evaluate(self.table, choices), inf)
        at = int(values.argmin())
        if values[at] < self.value_ms:
            self.device_of, self.value_ms = choices[at], float(values[at])

    @property
    def done(self) -> bool:
        """Whether value and bound are near enough."""
        return self.value_ms - self.bound_ms <= max(self.gap, _ENOUGH) * abs(self.value_ms)


def solve_milp(table: CostTable, model: str = FULL, time_limit_s: float = 60.0, gap: float = 0.0) -> Solution:
    """Return a placement with the lowest latency, and the proof, or the best one found in time with a bound.

    Args:
        table: the costs of G groups on any number of devices.
        model: model to minimise, `PAIRWISE` or `FULL`.
        time_limit_s: after about this time the best so far is returned.
        gap: relative difference of value and bound that is good enough. Value and bound carry HiGHS' tolerances, which
            are 1e-9 of the value for the objective and 1e-6 for a row.

    Raises:
        PlacementError: no placement fits into the memory of the devices.
        ValueError: an unknown model.
    """
    if model not in (PAIRWISE, FULL):
        raise ValueError(f"model must be '{PAIRWISE}' or '{FULL}', got '{model}'")
    start = perf_counter()
    unsolved = ([] if model == FULL else [SubmodelOverhead.label]) + list(left_out(table))
    table = folded(table)
    search = _Search(table, model, gap)
    search.offer(_first(table))
    search.bound_ms = simple_bound_ms(table)  # for when there is no time
    _minimise(search, start + time_limit_s)
    bound = min(search.bound_ms, search.value_ms)
    certificate = Certificate("milp", model, search.value_ms, bound, perf_counter() - start, ", ".join(unsolved))
    return Solution(search.device_of, certificate)


def formulate(table: CostTable, scale_ms: float) -> tuple[Program, IntArray, ForestRelaxation]:
    """Return the full model as a program, its columns for each group on each device `[G, D]`, and its submodels.

    Args:
        table: the costs, folded.
        scale_ms: size of the objective, at least roughly.
    """
    program = Program(scale=scale_ms)
    on = _pairwise(program, table, table.submodel_ms)
    return program, on, ForestRelaxation(program, table, on)


def _pairwise(program: Program, table: CostTable, extra_ms: FloatArray) -> IntArray:
    on = _assignment(program, table, extra_ms)
    _transfers(program, table, on)
    _savings(program, table, on)
    return on


def _minimise(search: _Search, deadline: float) -> None:
    table = search.table
    if search.model == FULL:
        program, on, forest = formulate(table, search.value_ms)
    else:
        program, forest = Program(scale=search.value_ms), None
        on = _pairwise(program, table, np.zeros(table.n_devices))
    relaxed = forest is not None
    while not search.done and (left := deadline - perf_counter()) > 0:
        outcome = program.solve(left, search.gap, relaxed)
        search.bound_ms = max(search.bound_ms, outcome.bound)
        if outcome.values is None:
            break
        if relaxed and forest is not None:
            if not (relaxed := forest.cut(outcome.values, WORTH)):
                search.offer(local_descent(table, outcome.values[on].argmax(axis=1))[None])
        elif not _strengthened(search, program, forest, on, outcome.values):
            break


def _strengthened(
    search: _Search, program: Program, forest: ForestRelaxation | None, on: IntArray, values: FloatArray
) -> bool:
    """Offer the placement that the columns stand for; add rows that they violate and return whether there are any."""
    device_of = values[on].argmax(axis=1)
    search.offer(device_of[None])
    before = program.n_rows
    _fit(program, search.table, on, device_of)
    if forest is not None:
        search.offer(local_descent(search.table, device_of)[None])
        if not search.done and not forest.cut(values):
            add_lazy_cuts(forest, values, device_of)
    return program.n_rows > before


def _assignment(program: Program, table: CostTable, extra_ms: FloatArray) -> IntArray:
    """Add a column for each group on each device, `[G, D]`, at its work and `extra_ms` (`[D]`); memory is limited."""
    runs = np.isfinite(table.group_ms) & (table.group_bytes[:, None] <= table.memory_bytes)
    on = program.columns(np.where(runs, table.group_ms, 0.0) + extra_ms, upper=runs, integer=True)
    program.rows([(on, 1.0)], 1.0, 1.0)
    for device in np.flatnonzero(np.isfinite(table.memory_bytes) & (table.memory_bytes > 0)):
        program.row([(on[:, device], table.group_bytes / table.memory_bytes[device])], high=1.0)
    return on


def _transfers(program: Program, table: CostTable, on: IntArray) -> None:
    """Add a column for each tensor passed from one device to another: its source is there, and each reader gets one.

    A tensor with a single reader is passed once in all, which is tighter than once to each device.
    """
    traffic, n_devices = table.traffic, table.n_devices
    passed = program.columns(table.transfer_ms())
    received = passed.transpose(0, 2, 1)[traffic.tensor_of].reshape(-1, n_devices)
    program.rows([(received, 1.0), (on[traffic.readers].ravel(), -1.0)], low=0.0)
    single = np.bincount(traffic.tensor_of, minlength=len(traffic.source)) == 1
    program.rows([(passed[single].reshape(-1, n_devices), 1.0), (on[traffic.source[single]].ravel(), -1.0)], high=0.0)
    home = np.repeat(on[traffic.source[~single]].ravel(), n_devices)
    program.rows([(passed[~single].ravel(), 1.0), (home, -1.0)], high=0.0)


def _savings(program: Program, table: CostTable, on: IntArray) -> None:
    """Add a column for each saving: both ends are on the device."""
    edge, device = np.nonzero(table.saving_ms)
    together = program.columns(-table.saving_ms[edge, device])
    for end in table.edges:
        program.rows([(together, 1.0), (on[end[edge], device], -1.0)], high=0.0)


def _first(table: CostTable) -> IntArray:
    """Return placements to begin with, `[B, G]`: uniform ones, the fastest device of each group, or else any that fits.

    Raises:
        PlacementError: there is none.
    """
    choices = np.concatenate([table.uniform_choices(), table.group_ms.argmin(axis=1)[None]])
    possible = table.fits(choices) & table.runs(choices)
    return choices[possible] if possible.any() else _fitting(table)[None]


def _fitting(table: CostTable) -> IntArray:
    """Return a placement that fits into memory, with little work."""
    program = Program()
    on = _assignment(program, table, np.zeros(table.n_devices))
    deadline = perf_counter() + _FITTING_S
    while (left := deadline - perf_counter()) > 0:
        outcome = program.solve(left, gap=0.01)
        if outcome.values is None:
            raise _too_big(table, outcome)
        device_of = np.asarray(outcome.values[on].argmax(axis=1), dtype=np.int64)
        if not _fit(program, table, on, device_of):
            return device_of
    raise _too_big(table, None)


def _fit(program: Program, table: CostTable, on: IntArray, device_of: IntArray) -> bool:
    """Forbid what is too large for a device by less than HiGHS' tolerance; return whether something was."""
    too_full = np.flatnonzero(table.used_bytes(device_of[None])[0] > table.memory_bytes)
    for device in too_full:
        members = np.flatnonzero(device_of == device)
        program.row([(on[members, device], 1.0)], high=len(members) - 1.0)
    return len(too_full) > 0


def _too_big(table: CostTable, outcome: Outcome | None) -> PlacementError:
    proven = (
        "no placement fits" if outcome and outcome.infeasible else f"found no placement in {_FITTING_S:g} s that fits"
    )
    needed, memory = table.group_bytes.sum() / 2**20, table.memory_bytes / 2**20
    return PlacementError(
        f"{proven} into memory: the model needs {needed:.1f} MiB, the devices have "
        f"{', '.join(f'{size:.1f}' for size in memory)} MiB; add a device or make the groups smaller"
    )
