from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import OpGraph
from ovplace.testing.graphs import chain, diamond, layered

LABELS = st.lists(st.integers(-3, 5), min_size=1, max_size=20)
N = 24
GRAPH = layered(N, seed=4)
GROUPS = st.lists(st.integers(0, 6), min_size=N, max_size=N).map(Partition.from_labels)
DEVICES = ("CPU_0", "CPU_1", "CPU_2")
CHOICES = st.lists(st.integers(0, 2), min_size=N, max_size=N)


@given(LABELS)
def test_labels_become_groups_by_first_appearance(labels):
    of = Partition.from_labels(labels)
    first = list(dict.fromkeys(labels))
    assert [first[g] for g in of.group_of] == labels
    assert of.n_groups == len(first)
    assert sorted(np.concatenate(of.members).tolist()) == list(range(len(labels)))
    assert all((of.group_of[members] == g).all() for g, members in enumerate(of.members))


@given(GROUPS, st.data())
def test_composing_and_lifting_agree(fine, data):
    coarse = Partition.from_labels(
        data.draw(st.lists(st.integers(0, 3), min_size=fine.n_groups, max_size=fine.n_groups))
    )
    both = fine.then(coarse)
    choice = data.draw(st.lists(st.integers(0, 2), min_size=both.n_groups, max_size=both.n_groups))
    at_once = both.lift(choice, DEVICES)
    in_steps = fine.lift(np.array(choice)[coarse.group_of], DEVICES)
    assert at_once.hash == in_steps.hash
    np.testing.assert_array_equal(at_once.device_of, np.array(choice)[both.group_of])


@given(GROUPS, st.data())
def test_lowering_undoes_lifting(of, data):
    choice = data.draw(st.lists(st.integers(0, 2), min_size=of.n_groups, max_size=of.n_groups))
    devices = of.lift(choice, DEVICES).device_of
    assert of.lower(devices).tolist() == choice
    assert of.lower(np.stack([devices, 2 - devices])).tolist() == [choice, [2 - device for device in choice]]


def test_a_group_on_several_devices_cannot_be_lowered():
    of = Partition(np.array([0, 0, 1]))
    with pytest.raises(ValueError, match="on several devices"):
        of.lower(np.array([[0, 0, 1], [0, 1, 1]]))
    with pytest.raises(ValueError, match="devices of 3 operations, got 2"):
        of.lower(np.array([0, 0]))


def test_the_identity_changes_nothing():
    of = Partition.from_labels([2, 2, 7, 1])
    np.testing.assert_array_equal(Partition.identity(4).then(of).group_of, of.group_of)
    np.testing.assert_array_equal(of.then(Partition.identity(3)).group_of, of.group_of)


@pytest.mark.parametrize("gap", [[0, 2], [1, 2], [-1, 0]])
def test_groups_have_no_gaps(gap):
    with pytest.raises(ValueError, match="without gaps"):
        Partition(np.array(gap))


def test_lengths_are_checked():
    of = Partition(np.array([0, 0, 1]))
    for act in (lambda: of.then(Partition.identity(3)), lambda: of.lift([0], DEVICES), lambda: of.quotient(diamond())):
        with pytest.raises(ValueError, match=r"partition|expected"):
            act()


@given(GROUPS)
def test_the_quotient_has_each_pair_of_neighbouring_groups_once(of):
    found = of.quotient(GRAPH)
    pairs = {tuple(pair) for pair in of.group_of[GRAPH.edges].T.tolist() if pair[0] != pair[1]}
    assert [tuple(pair) for pair in found.edges.T.tolist()] == sorted(pairs)
    assert found.sizes.tolist() == [len(members) for members in of.members]


def test_a_cyclic_quotient_is_noticed():
    of = Partition(np.array([0, 1, 0]))
    line = chain(("Sin", "Add", "Relu"))
    assert not of.quotient(line).is_acyclic
    with pytest.raises(ValueError, match="cycle"):
        of.quotient(line, acyclic=True)
    assert Partition(np.array([0, 0, 1])).quotient(line, acyclic=True).is_acyclic


@given(CHOICES, CHOICES)
def test_equal_hash_means_equal_devices(a, b):
    one, other = Placement(np.array(a), DEVICES), Placement(np.array(b), DEVICES)
    assert (one.hash == other.hash) == (a == b)


@given(CHOICES)
def test_how_the_devices_are_listed_does_not_matter(choice):
    of = Placement(np.array(choice), DEVICES)
    listed = Placement(5 - np.array(choice), (*"abc", *DEVICES[::-1]))
    assert listed.hash == of.hash
    assert Placement.from_names(GRAPH, of.to_names(GRAPH)).hash == of.hash
    assert set(of.used) == set(of.to_names(GRAPH).values())
    assert of.is_uniform == (len(set(choice)) == 1)
    assert sum(of.ops_per_device().values()) == N


def test_indices_by_other_names_need_those_that_are_used():
    of = Placement(np.array([2, 0, 2]), ("CPU", "NPU", "GPU"))
    assert of.indices(("GPU", "CPU")).tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="not in"):
        of.indices(("CPU", "NPU"))


@given(CHOICES)
def test_submodels_of_one_device_each_in_an_order_that_can_run(choice):
    chain_ = Placement(np.array(choice), DEVICES).submodels(GRAPH)
    assert set(chain_) == {DEVICES[d] for d in choice}


@given(st.lists(st.integers(0, 1), min_size=12, max_size=12))
def test_a_chain_is_cut_where_the_device_changes(choice):
    line = chain(("Sin",) * 12)
    of = Placement(np.array(choice), DEVICES)
    expected = [DEVICES[d] for i, d in enumerate(choice) if i == 0 or d != choice[i - 1]]
    assert of.submodels(line) == expected
    assert of.cut_bytes(line) == 1000 * (len(expected) - 1)


def test_constants_and_parameters_cost_nothing():
    types = ("Parameter", "Constant", "Add", "Result")
    of = OpGraph(
        names=types, types=types, attributes=({},) * 4, edges=np.array([[0, 1, 2], [2, 2, 3]]),
        ports=np.array([[0, 0, 0], [0, 1, 0]]), shapes=(((1,),),) * 4, element_types=(("f32",),) * 4,
        out_bytes=np.array([4, 8, 16]), content_hash="",
    )  # fmt: skip
    assert Placement(np.array([0, 1, 0, 0]), DEVICES).cut_bytes(of) == 0
    assert Placement(np.array([1, 0, 0, 0]), DEVICES).cut_bytes(of) == 4


def test_uniform_placements():
    of = Placement.uniform(4, "CPU_1", DEVICES)
    assert (of.used, of.is_uniform, of.cut_bytes(chain(("Sin",) * 4))) == (("CPU_1",), True, 0)
    assert Placement.uniform(4, "CPU_1").hash == of.hash != Placement.uniform(4, "CPU_2").hash
    assert Placement.uniform(3, "CPU_1").hash != of.hash


@pytest.mark.parametrize(("wrong", "named"), [([0, 3], 3), ([-1, 0], -1)])
def test_unknown_devices_are_refused(wrong, named):
    with pytest.raises(ValueError, match=f"device indices must be .*, got {named}$"):
        Placement(np.array(wrong), DEVICES)


def test_a_table_of_another_model_is_refused():
    of = diamond()
    table = dict.fromkeys(of.names, "CPU")
    for wrong, words in (
        ({**table, "stranger": "CPU"}, "1 of its names are not in the model"),
        ({name: "CPU" for name in of.names[1:]}, "1 of 6 operations are not in it"),
    ):
        with pytest.raises(PlacementError, match=words):
            Placement.from_names(of, wrong)
