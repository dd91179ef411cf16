"""The description of nodes, and the joint policy over groups of nodes and devices of groups, against slow oracles."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch

from ovplace.core.partition import Partition
from ovplace.learning.group_features import GroupFeatures, breadth_first_position
from ovplace.learning.initialise import seeded
from ovplace.placers.fc_grouper.config import GrouperSettings
from ovplace.placers.fc_grouper.feed_forward import FeedForward
from ovplace.placers.fc_grouper.policy import GroupedPolicy
from ovplace.placers.seq2seq.config import Seq2SeqSettings
from ovplace.placers.seq2seq.network import Seq2Seq
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, diamond, graph, layered, problem

HEADS = {
    "seq2seq": lambda d: lambda f: Seq2Seq(f, d, Seq2SeqSettings(hidden=8, attention=4)),
    "feed_forward": lambda d: lambda f: FeedForward(f, d, 8, 0.0),
}


def policy(of, groups=2, head="seq2seq", seed=1, sharpness=1.0, **schedule):
    settings = GrouperSettings(groups, group_hidden=8, type_size=5, sharpness=sharpness, **schedule)
    devices = len(of.devices)
    return seeded(lambda: GroupedPolicy(GroupFeatures.of(of), devices, settings, HEADS[head](devices)), seed)


def drawn(own, count, exploration_rate=0.0, update=0, seed=0):
    return own.draw([generator(seed, "test", i) for i in range(count)], update, np.full(count, exploration_rate))


def tiny():
    supported = np.array([[1, 1], [1, 0], [1, 1]], dtype=bool)
    return problem(chain(("Add", "Sin", "Add")), supported=supported)


# Nodes


def test_types_are_counted_and_features_averaged():
    of = problem(chain(("Add", "Sin", "Sin", "Relu")), partition=Partition(np.array([0, 1, 1, 1])))
    of = replace(of, features=np.array([[1.0], [2.0], [4.0], [6.0]]))
    nodes = GroupFeatures.of(of)
    assert nodes.counts.tolist() == [[1, 0, 0], [0, 1, 2]]  # Add, Relu, Sin
    assert nodes.extra.tolist() == [[1.0], [4.0]]


@pytest.mark.parametrize("seed", range(3))
def test_the_breadth_first_order_is_that_of_a_queue(seed):
    of = problem(layered(30, seed=seed))
    n, edges = of.n_groups, of.quotient.edges
    place = breadth_first_position(n, edges, of.group_order)
    assert sorted(place) == list(range(n))
    distance = distances(n, edges, of.group_order)
    by_place = np.argsort(place)
    assert (np.diff(distance[by_place]) >= 0).all()


def distances(n, edges, order):
    """Steps from the first node of each connected part."""
    around = [set() for _ in range(n)]
    for a, b in edges.T.tolist():
        around[a].add(b)
        around[b].add(a)
    found = np.full(n, -1)
    for first in order.tolist():
        if found[first] >= 0:
            continue
        found[first], queue = 0, deque([first])
        while queue:
            node = queue.popleft()
            for other in around[node]:
                if found[other] < 0:
                    found[other] = found[node] + 1
                    queue.append(other)
    return found


def test_neighbours_are_told_by_place_in_both_directions():
    nodes = GroupFeatures.of(problem(chain(("Add",) * 5)))
    assert nodes.neighbours[2].tolist() == [0.25, *[-1] * 5, 0.75, *[-1] * 5]
    assert nodes.neighbours[0].tolist() == [-1.0] * 6 + [0.25] + [-1.0] * 5


def test_no_more_than_six_neighbours_are_told():
    star = graph(("Add",) * 12, [(0, i) for i in range(1, 12)])
    nodes = GroupFeatures.of(problem(star))
    assert (nodes.neighbours[0, 6:] > 0).all()
    assert (np.diff(nodes.neighbours[0, 6:]) > 0).all()
    assert (nodes.neighbours[0, :6] == -1).all()


def test_outputs_are_what_others_read():
    of = graph(("Add", "Split", "Sin"), [(0, 1), (1, 2)])
    shapes = (((5,),), ((2, 3), (4, 5, 6, 7, 8)), ((),))
    of = replace(of, shapes=shapes, element_types=(("f32",), ("f32", "f32"), ("f32",)))
    ports = np.array([[0, 1], [0, 0]])
    nodes = GroupFeatures.of(problem(replace(of, ports=ports), partition=Partition(np.array([0, 0, 1]))))
    scaled = np.log1p([4, 5, 6, 7 * 8]) / np.log1p(65_536)
    np.testing.assert_allclose(nodes.outputs[0, :4], scaled)
    assert (nodes.outputs[0, 4:] == -1).all()
    assert (nodes.outputs[1] == -1).all(), "a scalar has no dimension"


def test_dynamic_dimensions_are_missing():
    of = chain(("Add", "Sin"))
    of = replace(of, shapes=(((-1, 3, 2, -1, 5),), ((1,),)))
    row = GroupFeatures.of(problem(of)).outputs[0]
    assert (row[[0, 3]] == -1).all()
    assert (row[1:3] > 0).all()


# The view of groups


@pytest.mark.parametrize("seed", range(3))
def test_the_view_of_groups_equals_a_slow_one(seed):
    of = problem(layered(12, seed=seed), n_devices=3, supported=supported(12, 3, seed))
    own = policy(of, groups=4)
    groups = generator(seed, "test").integers(4, size=(5, 12))
    x, allowed = own.head_inputs(groups)
    nodes, q = GroupFeatures.of(of), of.quotient.edges
    for sample, g in product(range(5), range(4)):
        members = np.flatnonzero(groups[sample] == g)
        counts = nodes.counts[members].sum(axis=0)
        sizes = np.maximum(nodes.outputs[members], 0).sum(axis=0)
        to = [sum(groups[sample, a] == g and groups[sample, b] == h for a, b in q.T) for h in range(4)]
        whole = [*nodes.counts.sum(axis=0), *np.maximum(nodes.outputs, 0).sum(axis=0), *[q.shape[1]] * 4]
        wanted = np.log1p([*counts, *sizes, *to]) / np.maximum(np.log1p(whole), 1)
        np.testing.assert_allclose(x[sample, g].numpy(), wanted, rtol=1e-5)
        able = of.allowed[members].any(axis=0) if len(members) else [True, False, False]
        assert allowed[sample, g].tolist() == list(able)


def supported(n, d, seed):
    found = generator(seed, "test", "supported").random((n, d)) < 0.6
    found[np.arange(n), generator(seed, "test", "home").integers(d, size=n)] = True
    return found


# Probabilities


@pytest.mark.parametrize("head", HEADS)
def test_probabilities_of_all_groupings_and_placements_sum_to_one(head):
    own, total = policy(tiny(), head=head), 0.0
    for groups in product(range(2), repeat=3):
        _, allowed = own.head_inputs(np.array([groups]))
        for devices in product(*(np.flatnonzero(row) for row in allowed[0])):
            total += own.log_p(np.array([groups + devices]))[0].exp().item()
    assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("head", HEADS)
def test_a_device_without_support_has_no_probability(head):
    own = policy(tiny(), head=head)
    assert own.log_p(np.array([[0, 1, 0, 0, 1]]))[0].item() == -np.inf
    assert own.log_p(np.array([[0, 1, 0, 1, 0]]))[0].item() > -np.inf


@pytest.mark.parametrize("head", HEADS)
def test_draws_are_as_frequent_as_the_policy_says(head):
    own, count = policy(tiny(), head=head), 5000
    keys, times = np.unique(drawn(own, count), axis=0, return_counts=True)
    p = own.log_p(keys)[0].exp().detach().numpy()
    assert len(keys) > 10
    np.testing.assert_allclose(times / count, p, atol=5 * np.sqrt(0.25 / count))


@pytest.mark.parametrize("head", HEADS)
def test_mere_chance_knows_no_preference(head):
    own = policy(tiny(), head=head, sharpness=20.0)
    actions = drawn(own, 2000, exploration_rate=1.0)
    assert (abs(actions[:, :3].mean(axis=0) - 0.5) < 0.07).all()
    both = own.head_inputs(actions[:, :3])[1].all(axis=2)
    assert abs(actions[:, 3:][both].mean() - 0.5) < 0.07


@pytest.mark.parametrize("head", HEADS)
def test_after_some_updates_the_likeliest_is_taken(head):
    own = policy(problem(layered(10, seed=1)), groups=3, head=head, sharpness=4.0, draws=5)
    likeliest = drawn(own, 2, update=5)
    draws = drawn(own, 50, update=4)
    assert (likeliest[0] == likeliest[1]).all()
    assert len(np.unique(draws, axis=0)) > 1
    assert own.log_p(likeliest)[0][0].item() >= own.log_p(draws)[0].max().item() - 1e-5


def test_noise_makes_devices_more_diverse_as_long_as_it_lasts():
    own = policy(problem(diamond()), groups=2, head="feed_forward", noise=2.0, noise_updates=7)
    with torch.no_grad():
        own.head.layers[-1].weight.zero_()
        own.head.layers[-1].bias.copy_(torch.tensor([8.0, 0.0]))
    noisy, plain = (drawn(own, 200, update=update)[:, 6:].mean() for update in (6, 7))
    assert plain < 0.02 < 0.1 < noisy


def test_a_sample_depends_on_its_own_generator_alone():
    own = policy(problem(layered(10, seed=1)), groups=3, noise=1.0, noise_updates=1)
    assert (drawn(own, 5)[:2] == drawn(own, 2)).all()


def test_one_group_has_nothing_to_group():
    own = policy(tiny(), groups=1)
    assert own().abs().max() == 0
    actions = drawn(own, 3)
    assert not actions[:, :3].any()
    assert actions.shape == (3, 4)


def test_there_are_at_most_as_many_groups_as_nodes_and_by_default_twenty_a_device():
    assert policy(tiny(), groups=20).n_groups == 3
    of = problem(layered(70, seed=1), n_devices=3)
    assert [policy(of, groups=groups).n_groups for groups in (0, 5)] == [60, 5]


def test_choices_are_the_devices_of_the_groups():
    own = policy(tiny())
    assert own.choices(np.array([[0, 1, 0, 5, 7]])).tolist() == [[5, 7, 5]]


def test_equal_seeds_give_equal_weights():
    one, two, other = (policy(tiny(), seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.grouper[0].weight, two.grouper[0].weight)
    assert not torch.equal(one.grouper[0].weight, other.grouper[0].weight)


# Gradients


@pytest.mark.parametrize("head", HEADS)
def test_the_gradient_agrees_with_finite_differences(head):
    own = policy(problem(layered(6, seed=2), n_devices=3), groups=3, head=head)
    own = as_double(own)
    actions = drawn(own, 4)
    weight = torch.tensor([1.0, -0.5, 2.0, 0.3], dtype=torch.float64)

    def value():
        log_p, entropy = own.log_p(actions)
        return (weight * log_p).sum() + 0.7 * entropy

    value().backward()
    rng = generator(0, "test", "direction")
    for name, parameter in own.named_parameters():
        start, direction = parameter.data, torch.from_numpy(rng.standard_normal(parameter.shape))
        slope, step = (parameter.grad * direction).sum().item(), 1e-5
        parameter.data = start + step * direction
        above = value()
        parameter.data = start - step * direction
        below = value()
        parameter.data = start
        assert slope == pytest.approx((above - below).item() / (2 * step), rel=1e-4, abs=1e-6), name


def as_double(own):
    own = own.double()
    for name in ("_shares", "_others", "_summed"):
        setattr(own, name, getattr(own, name).double())
    return own


@pytest.mark.parametrize("head", HEADS)
def test_ascending_log_p_makes_both_decisions_likelier(head):
    own = policy(problem(diamond()), groups=2, head=head)
    actions = drawn(own, 1, seed=3)
    optimiser = torch.optim.Adam(own.parameters(), lr=0.02)
    nodes = torch.arange(6), torch.from_numpy(actions[0, :6])
    before = own.log_p(actions)[0].item(), own()[nodes].sum().item()
    for _ in range(10):
        optimiser.zero_grad()
        (-own.log_p(actions)[0].sum()).backward()
        optimiser.step()
    after = own.log_p(actions)[0].item(), own()[nodes].sum().item()
    assert after[1] > before[1], "the grouping"
    assert after[0] - after[1] > before[0] - before[1], "the devices"


def test_entropy_is_that_of_equal_choices_at_most():
    own = policy(problem(layered(10, seed=1), n_devices=3), groups=4, head="feed_forward")
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.zero_()
    actions = np.concatenate([np.arange(10) % 4, np.zeros(4, dtype=np.int64)])[None]
    assert own.log_p(actions)[1].item() == pytest.approx(np.log(4) + np.log(3), rel=1e-5)
