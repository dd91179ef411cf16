"""A further term of the cost model: parameters in the table, one class, and all else follows."""

# mypy: disable-error-code="attr-defined"
# The tables of these tests have the fields of two further terms.

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields

import numpy as np
import pytest

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.fit import fit
from ovplace.cost.evaluate import terms
from ovplace.cost.evaluate.design_matrix import design_matrix, parameters, with_parameters
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.evaluate.move_costs import MoveCosts
from ovplace.cost.evaluate.restrict import restrict
from ovplace.cost.solvers.alpha_expansion import alpha_expansion
from ovplace.cost.solvers.dynamic_program import solve_chain
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.min_cut import solve_min_cut
from ovplace.cost.solvers.portfolio import best_certified
from ovplace.graphs.op_graph import FloatArray
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered, problem
from ovplace.testing.placements import every_choice, optimum


def none() -> FloatArray:
    return np.zeros(())


@dataclass(frozen=True, eq=False)
class Table(CostTable):
    """A table with two more arrays, declared as a field of `CostTable` would be."""

    input_ms: FloatArray = field(default_factory=none, metadata={"axes": "GD"})
    start_ms: FloatArray = field(default_factory=none, metadata={"axes": "D"})


class Inputs(terms.CostTerm):
    """The cost of feeding a graph input to a group on a device: solvers see it as work."""

    label = "graph inputs"
    parameters = ("input_ms",)

    def counts(self, table, device_of):
        return {"input_ms": device_of[:, :, None] == np.arange(table.n_devices)}

    def fold(self, table):
        return with_parameters_of(table, group_ms=table.group_ms + table.input_ms)


class Starts(terms.CostTerm):
    """The cost of each device in use, which no solver knows."""

    label = "starts of devices"
    parameters = ("start_ms",)
    pairwise = False

    def counts(self, table, device_of):
        return {"start_ms": (device_of[:, :, None] == np.arange(table.n_devices)).any(axis=1)}


def with_parameters_of(table: CostTable, **changed: FloatArray) -> Table:
    return Table(**{f.name: getattr(table, f.name) for f in fields(table)} | changed)


@pytest.fixture(autouse=True)
def further_terms(monkeypatch):
    monkeypatch.setattr(terms, "TERMS", (*terms.TERMS, Inputs(), Starts()))
    monkeypatch.setattr("ovplace.cost.solvers.alpha_expansion.CostTable", Table)  # as if it had the fields


def tables(of):
    """Return a table with both terms and its basic part."""
    rng, basic = generator(of.n_groups, "testing", "terms"), with_parameters_of(of.costs)
    inputs = rng.random(basic.group_ms.shape) * (rng.random((of.n_groups, 1)) < 0.4)
    return with_parameters_of(basic, input_ms=inputs, start_ms=0.5 * rng.random(basic.n_devices)), basic


def added_ms(table, choices):
    """The definition of both terms in plain Python."""
    fed = [sum(table.input_ms[g, d] for g, d in enumerate(choice)) for choice in choices.tolist()]
    started = [sum(table.start_ms[d] for d in set(choice)) for choice in choices.tolist()]
    return np.array(fed), np.array(started)


def test_latency_has_it_and_the_pairwise_model_where_it_is_pairwise():
    table, basic = tables(problem(layered(8, 1), 3))
    choices = every_choice(basic)[::37]
    fed, started = added_ms(table, choices)
    np.testing.assert_allclose(latency_ms(table, choices), latency_ms(basic, choices) + fed + started)
    np.testing.assert_allclose(pairwise_ms(table, choices), pairwise_ms(basic, choices) + fed)


def test_the_design_matrix_has_its_columns():
    table, basic = tables(problem(layered(8, 2), 2))
    choices = every_choice(basic)
    matrix = design_matrix(table, choices)
    assert matrix[:, parameters(table) != parameters(basic)].any(axis=0).all()
    np.testing.assert_allclose(matrix @ parameters(table), latency_ms(table, choices))
    np.testing.assert_array_equal(with_parameters(table, 2 * parameters(table)).start_ms, 2 * table.start_ms)


def test_a_fit_learns_it_from_measurements():
    truth, basic = tables(problem(layered(6, 3), 2))
    truth = with_parameters_of(truth, start_ms=np.array([0.0, 1.0]))
    choices = every_choice(basic)
    found = fit(basic, choices, latency_ms(truth, choices))
    assert found.held_back.mape < 0.1 * found.before.mape
    assert found.table.start_ms[1] > found.table.start_ms[0] + 0.3
    fed = np.flatnonzero(truth.input_ms.any(axis=1))
    assert found.table.input_ms[fed].mean() > 0.1


def test_a_part_keeps_its_own():
    table, _ = tables(problem(layered(9, 4), 2))
    groups = np.array([5, 1, 7])
    part = restrict(table, groups)
    np.testing.assert_array_equal(part.input_ms, table.input_ms[groups])
    np.testing.assert_array_equal(part.start_ms, table.start_ms)
    choice = np.array([[0, 1, 1]])
    alone = pairwise_ms(restrict(with_parameters_of(table, input_ms=none()), groups), choice)
    assert pairwise_ms(part, choice)[0] == pytest.approx(alone[0] + added_ms(part, choice)[0][0])


def test_it_is_stored_and_a_file_without_it_is_read():
    table, basic = tables(problem(layered(5, 5), 2))
    back = Table.from_dict(json.loads(json.dumps(table.to_dict())))
    np.testing.assert_array_equal(parameters(back), parameters(table))
    old = Table.from_dict(json.loads(json.dumps(basic.to_dict())))
    assert not old.input_ms.any()
    assert old.input_ms.shape == (5, 2)


@pytest.mark.parametrize("n_devices", [2, 3])
def test_solvers_find_the_optimum_of_what_folds_and_say_what_they_leave_out(n_devices):
    table, basic = tables(problem(layered(7, 6), n_devices))
    folding = with_parameters_of(table, start_ms=none())
    found = solve_milp(folding, time_limit_s=20)
    assert found.certificate.value_ms == pytest.approx(optimum(folding, latency_ms))
    assert optimum(folding, latency_ms) > optimum(basic, latency_ms)
    assert "starts" not in found.certificate.leaves_out
    found = solve_milp(table, time_limit_s=20)
    assert "starts of devices" in found.certificate.leaves_out
    assert found.certificate.lower_bound_ms <= optimum(table, latency_ms)
    best = best_certified(table, 20.0)
    assert best.value_ms == pytest.approx(latency_ms(table, best.device_of[None])[0])


def test_the_pairwise_solvers_and_the_moves_fold_it_too():
    table, _ = tables(problem(layered(7, 7), 2))
    cut = solve_min_cut(table)
    assert pairwise_ms(table, cut.device_of[None])[0] == pytest.approx(optimum(table, pairwise_ms))
    assert "starts of devices" in cut.certificate.leaves_out
    assert pairwise_ms(table, alpha_expansion(table)[None])[0] == pytest.approx(optimum(table, pairwise_ms))
    line, _ = tables(problem(chain(["Relu"] * 6), 3))
    line = with_parameters_of(line, start_ms=none())
    assert solve_chain(line).certificate.value_ms == pytest.approx(optimum(line, latency_ms))
    moved = np.array([[0] * 7, [1, *[0] * 6]])
    moves = MoveCosts(table).group_ms(moved[:1], 0)[0]
    assert moves[1] - moves[0] == pytest.approx(np.diff(pairwise_ms(table, moved))[0])
