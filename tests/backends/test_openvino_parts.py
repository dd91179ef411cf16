"""The OpenVINO backend: parts of a model by themselves, and placements stage by stage."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.backends.openvino import Backend
from ovplace.backends.openvino.timer import Timer
from ovplace.core.measurement import Candidate, Job, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import read_graph
from ovplace.testing import models
from tests.backends.two_cpus import NAMES, PAIR, SPEC, chain, halves, whole


def parts_of(graph, groups, device_of, names=NAMES):
    """Return a candidate for each group alone, in a placement of all operations."""
    placement = Placement(device_of, names)
    return [Candidate(f"part {i}", placement, part=tuple(m.tolist())) for i, m in enumerate(groups.members)]


@pytest.mark.parametrize("name", ["residual", "kv_cache", "int8_weights"])
def test_parts_run_on_what_the_whole_model_has_there(saved, name):
    path = saved(models.TINY[name]())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    parts = parts_of(graph, legal_groups(graph), np.ones(len(graph), int))
    measured = backend.measure([*parts, whole(graph)], SPEC)
    assert all(m.ok for m in measured), [m.error_text for m in measured]
    assert {m.submodels for m in measured[:-1]} == {("CPU_B",)}
    assert list(backend._kept) == [whole(graph).hash]


def test_a_part_on_two_devices(saved):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    split = halves(graph)
    late = {graph.types[i] for i in np.flatnonzero(split.placement.device_of)}
    assert "Tanh" in late
    part = tuple(i for i, kind in enumerate(graph.types) if kind not in ("Result",))
    m = backend.measure([Candidate("part", split.placement, part=part)], SPEC)[0]
    assert m.ok, m.error_text
    assert m.submodels == NAMES


def test_a_part_is_hopeless_only_beside_the_same_part(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real = Timer._warm_up
    monkeypatch.setattr(
        Timer, "_warm_up", lambda self, r, s: real(self, r, s) * (1e6 if r.submodels == ("CPU_B",) else 1)
    )
    steps = [i for i, kind in enumerate(graph.types) if kind == "Tanh"][:2]
    parts = [
        Candidate("part", Placement.uniform(len(graph), name, NAMES), part=(step,))
        for step, name in [(steps[0], "CPU_A"), (steps[0], "CPU_B"), (steps[1], "CPU_B")]
    ]
    measured = backend.measure(parts, MeasureSpec(warmup=1, blocks=2, repeats=2, min_time_ms=0.0))
    assert [m.blocks for m in measured] == [(2, 2), (1,), (2, 2)]


def test_a_staged_placement_is_timed_stage_by_stage(saved):
    path = saved(chain(shape=(64, 256)))
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    split = halves(graph)
    staged = Candidate("staged", split.placement, staged=True)
    whole_run, stage_run, one_device = backend.measure(
        [split, staged, Candidate("CPU_A", whole(graph).placement, staged=True)], SPEC
    )
    assert stage_run.submodels == whole_run.submodels == ("CPU_A", "CPU_B")
    assert len(stage_run.stages_ms) == 2
    assert 0 < sum(stage_run.stages_ms) <= 1.2 * max(stage_run.samples_ms)
    assert [o.max_abs for o in stage_run.outputs] == [o.max_abs for o in whole_run.outputs]
    assert set(stage_run.facts["execution_devices"].split(",")) == set(NAMES)
    assert whole_run.stages_ms == one_device.stages_ms == ()


def test_a_cut_part_in_stages_shares_what_its_halves_compiled(saved, monkeypatch):
    path = saved(chain(shape=(64, 256)))
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    steps = [i for i, kind in enumerate(graph.types) if kind in ("Multiply", "Tanh")]
    sides = tuple(steps[:2]), tuple(steps[2:4])
    device_of = np.zeros(len(graph), dtype=int)
    device_of[list(sides[1])] = 1
    alone = [
        Candidate("alone", Placement.uniform(len(graph), name, NAMES), part=side)
        for name, side in zip(NAMES, sides, strict=True)
    ]
    cut = Candidate("cut", Placement(device_of, NAMES), part=(*sides[0], *sides[1]), staged=True)
    backend.measure(alone, SPEC)  # which records the tensors that go into them, too
    monkeypatch.setattr(backend._core, "compile_model", None)  # nothing is compiled any more
    [measured] = backend.measure([cut], SPEC)
    assert measured.submodels == NAMES, measured.error_text


def test_states_of_stages_start_anew_like_those_of_a_whole_model(saved):
    path = saved(models.kv_cache())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    legal = legal_groups(graph)
    placement = legal.lift(np.arange(legal.n_groups) % 2, NAMES)
    for _ in range(2):
        [measured] = backend.measure([Candidate("staged", placement, staged=True)], SPEC)
        assert measured.ok, measured.error_text
        assert measured.max_error < 1e-5
