"""Learning from many problems: imitation, policy gradient, and going on."""

import numpy as np
import pytest
import torch

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_known
from ovplace.errors import UsageError
from ovplace.placers.hsdag.trainer import TrainingExample, reinforce_loss
from ovplace.placers.hsdag.zero_shot import group_log_p, most_probable
from ovplace.plugins import registry
from ovplace.testing.graphs import chain, every_placement, layered, problem

HSDAG = registry.load("placers", "hsdag")
SMALL = {"head": "devices", "described": False, "hidden": 16, "head_hidden": 16, "head_rounds": 3, "grouping": "fixed"}


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
    """The gradient of the exact expectation and the mean of the sampled one point the same way."""
    of = problem(chain(("Add", "Sin", "MatMul", "Relu")), 2, seed=5)
    config = HSDAG.config(SMALL | {"encoder": "dag"})
    example, network = TrainingExample.of(of, config), HSDAG.trainer(config, 0, 0).network
    weights = list(network.classify.parameters())

    def gradient(loss):
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, weights, allow_unused=True) if g is not None])

    log_p = group_log_p(network, example.graph)
    choices = np.stack([of.lower(placement) for placement in every_placement(of)])
    p = torch.stack([log_p[torch.arange(4), torch.from_numpy(choice)].sum().exp() for choice in choices])
    cost = torch.from_numpy(np.minimum(example.log_ratio(choices), 2.0)).float()
    exact, rng = gradient((p * cost).sum()), np.random.default_rng(0)
    sampled = [
        gradient(reinforce_loss(group_log_p(network, example.graph), example, rng, entropy=0.0)) for _ in range(60)
    ]
    assert float(torch.cosine_similarity(exact, torch.stack(sampled).sum(dim=0), dim=0)) > 0.9


def test_reinforcing_does_not_see_the_best_placement(monkeypatch):
    def weights(best, act):
        monkeypatch.setattr("ovplace.placers.hsdag.trainer.best_known", best)
        trainer = HSDAG.trainer(HSDAG.config(SMALL), 0, 0)
        getattr(trainer, act)(problems(1), 0)
        return torch.cat([p.detach().flatten() for p in trainer.network.parameters()])

    def first_device(costs):
        return np.zeros(costs.n_groups, dtype=np.int64)

    assert torch.allclose(weights(best_known, "reinforce"), weights(first_device, "reinforce"), atol=1e-5)
    assert not torch.allclose(weights(best_known, "update"), weights(first_device, "update"), atol=1e-5)


def test_rounding_does_not_tear_a_model_between_identical_devices():
    log_p = torch.full((50, 3), -0.7) + 1e-6 * torch.rand(50, 3, generator=torch.Generator().manual_seed(0))
    log_p[:, 2] = -5.0
    assert log_p.argmax(dim=1).unique().tolist() == [0, 1], "rounding alone would"
    assert most_probable(log_p).tolist() == [0] * 50
    log_p[7, 1] += 0.1
    assert most_probable(log_p)[7] == 1, "what is likelier is chosen"


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
