"""Learning from many problems: imitation, policy gradient, and going on."""

import numpy as np
import pytest
import torch

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_known
from ovplace.errors import UsageError
from ovplace.learning.checkpoint import seeded
from ovplace.placers.hsdag.imitation_trainer import Apprentice, Course, Lesson, _chosen
from ovplace.placers.hsdag.network_settings import NetworkSettings
from ovplace.placers.hsdag.policy import Policy
from ovplace.placers.hsdag.policy_graph import n_columns, policy_graph
from ovplace.placers.hsdag.rollout import said_of_owners
from ovplace.plugins import registry
from ovplace.testing.graphs import chain, every_placement, layered, problem

SETTINGS = NetworkSettings(hidden=16, head="devices", head_hidden=16, head_rounds=3, described=False, encoder="dag")
HSDAG = registry.load("placers", "hsdag")
SMALL = {"head": "devices", "described": False, "hidden": 16, "head_hidden": 16, "head_rounds": 3, "grouping": "fixed"}


def lesson(of, best=None):
    graph, owner = policy_graph(of, False, True, aware=True, described=False)
    known = best_known(of.costs)
    least = latency_ms(of.costs, known[None])[0]
    return Lesson(graph, owner, known if best is None else best, lambda c: np.log(latency_ms(of.costs, c) / least))


def apprentice(**course):
    policy = seeded(lambda: Policy(n_columns(0, False), 0, SETTINGS), 0)
    return Apprentice(policy, Course(**course))


def problems(count, first=0):
    return [problem(layered(12, seed=first + i), n_devices=2 + i % 3, seed=first + i) for i in range(count)]


def test_the_best_known_is_the_optimum_of_small_problems():
    for seed in range(4):
        of = problem(chain(("Add", "Sin") * 4), seed=seed)
        brute = min(latency_ms(of.costs, placement.device_of[None])[0] for placement in every_placement(of))
        assert latency_ms(of.costs, best_known(of.costs)[None])[0] == pytest.approx(brute)


def test_imitation_then_gradient_place_unseen_problems_better_than_single_devices():
    trainer = HSDAG.trainer(HSDAG.config(SMALL), 0, 0)
    seen, unseen = problems(8), problems(6, first=100)
    for number in range(60):
        trainer.update(seen, number)
    ratios, singles = [], []
    for of in unseen:
        best = latency_ms(of.costs, best_known(of.costs)[None])[0]
        ratios.append(latency_ms(of.costs, trainer.place(of)[None])[0] / best)
        alone = np.stack([of.uniform(d) for d in range(len(of.devices))])
        singles.append(latency_ms(of.costs, alone).min() / best)
    assert np.median(ratios) < np.median(singles)
    assert np.median(ratios) < 1.2


def test_samples_that_are_faster_become_likelier():
    of = problem(chain(("Add", "Sin", "MatMul", "Relu")), 2, seed=5)
    taught, pupil = lesson(of), apprentice()

    def expected():
        log_p = said_of_owners(pupil.network, taught.graph, taught.owner)
        choices = np.stack([placement.device_of for placement in every_placement(of)])
        p = torch.stack([log_p[torch.arange(4), torch.from_numpy(choice)].sum().exp() for choice in choices])
        cost = torch.from_numpy(np.minimum(taught.over_best(choices), 2.0)).float()
        return (p * cost).sum()

    # The gradient of the exact expectation and the mean of the sampled one point the same way.
    expected().backward()
    exact = torch.cat([w.grad.flatten() for w in pupil.network.classify.parameters() if w.grad is not None])
    pupil.network.zero_grad()
    pupil._course = Course(entropy=0.0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        log_p = said_of_owners(pupil.network, taught.graph, taught.owner)
        pupil._of_samples(log_p, taught, rng).backward()
    sampled = torch.cat([w.grad.flatten() for w in pupil.network.classify.parameters() if w.grad is not None])
    assert float(torch.cosine_similarity(exact, sampled, dim=0)) > 0.9


def test_rounding_does_not_tear_a_model_between_identical_devices():
    log_p = torch.full((50, 3), -0.7) + 1e-6 * torch.rand(50, 3, generator=torch.Generator().manual_seed(0))
    log_p[:, 2] = -5.0
    assert log_p.argmax(dim=1).unique().tolist() == [0, 1], "rounding alone would"
    assert _chosen(log_p).tolist() == [0] * 50
    log_p[7, 1] += 0.1
    assert _chosen(log_p)[7] == 1, "what is likelier is chosen"


def test_a_training_that_goes_on_is_one_that_never_stopped():
    config = HSDAG.config(SMALL)
    one, other = (HSDAG.trainer(config, 0, 0) for _ in range(2))
    batch = problems(3)
    for number in range(4):
        one.update(batch, number)
    other.restore(one.dump())
    for number in range(4, 8):
        one.update(batch, number)
        other.update(batch, number)
    assert all(torch.equal(a, b) for a, b in zip(one.network.parameters(), other.network.parameters(), strict=True))


def test_only_the_head_that_fits_all_machines_is_trained():
    with pytest.raises(UsageError, match=r"needs placer.head = 'devices', got 'classes'"):
        HSDAG.trainer(HSDAG.config({}), 0, 0)
