"""The hierarchical planner: its presets, what it learns, and what it reaches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ovplace.errors import ConfigError
from ovplace.learning.group_features import GroupFeatures
from ovplace.learning.initialise import seeded
from ovplace.learning.objectives import perturbed
from ovplace.placers.fc_grouper.policy import GroupedPolicy
from ovplace.placers.seq2seq.network import Seq2Seq
from ovplace.plugins import registry
from ovplace.testing.contracts.placer import advance
from ovplace.testing.graphs import chain, diamond, problem, trial_of

HIERARCHICAL = registry.load("placers", "hierarchical")
LEARNED_ALONE = {"uniform": False, "redraws": 0}


def built(of, **settings):
    return HIERARCHICAL.factory(of, HIERARCHICAL.config(settings))


def test_the_published_code_has_these_defaults():
    paper = HIERARCHICAL.config({"preset": "paper"})
    table = {
        "group_hidden": 64, "type_size": 20, "hidden": 512, "attention": 512, "noise": 0.5, "noise_updates": 750,
        "tanh_constant": 1.0, "temperature": 1.0, "failure_ratio": 100.0, "decay": 0.9, "max_grad_norm": 1.0,
        "learning_rate": 0.1, "rate_decay": 0.95, "rate_decay_every": 50, "rate_decay_after": 400, "draws": 500,
        "drop_failures_after": 1000, "signal": "sqrt",
    }  # fmt: skip
    assert {name: getattr(paper, name) for name in table} == table


def published(of=None):
    """Return the policy that the preset `paper` builds."""
    of = of or problem(chain(("Add", "Sin", "Relu") * 20), n_devices=2)
    config = HIERARCHICAL.config({"preset": "paper"})
    return seeded(lambda: GroupedPolicy(GroupFeatures.of(of), 2, config, lambda width: Seq2Seq(width, 2, config)), 0)


def test_the_published_grouper_is_built():
    linear = [part for part in published().grouper.modules() if isinstance(part, nn.Linear)]
    assert [part.out_features for part in linear] == [64, 40]  # 20 groups for each device
    assert published().types.out_features == 20


def test_the_published_placer_is_built():
    network = published().head
    encoder, decoder = network.encoder, network.decoder
    assert (encoder.bidirectional, encoder.hidden_size) == (True, 256)
    assert (decoder.bidirectional, decoder.hidden_size, decoder.input_size) == (False, 512, 512)
    assert network.keys.out_features == network.query.out_features == len(network.score) == 512
    assert network.classify.in_features == 1024  # the context of the attention stands beside the state
    assert network.stay is None


def test_published_logits_of_devices_are_bounded_by_1():
    of = problem(chain(("Add", "Sin", "Relu") * 20), n_devices=2)
    policy = published(of)
    with torch.no_grad():
        policy.head.classify.weight.mul_(1e6)
        x, _ = policy.head_inputs(np.zeros((1, of.n_groups), dtype=np.int64))
        encoded = policy.head._encode(x)
        h, _ = policy.head.decoder(torch.zeros(1, 3, 512), encoded.last)
        logits = policy.head._logits(encoded, h, torch.zeros(1, 3, dtype=torch.int64))
    assert logits.abs().max() == pytest.approx(1.0)


def test_noise_is_half_of_the_root_mean_square_of_the_logits():
    policy, rng = published(), np.random.default_rng(0)
    logits = 7.0 * torch.from_numpy(rng.standard_normal((60, 40)))
    noise = 0.5 * np.ones((60, 40))
    added = perturbed(logits, noise, axes=(0, 1)) - logits
    assert added.numpy() == pytest.approx(0.5 * logits.square().mean().sqrt().item())
    assert policy._settings.noise == 0.5


def test_what_the_user_sets_goes_before_the_preset():
    found = HIERARCHICAL.config({"preset": "paper", "hidden": 32})
    assert (found.hidden, found.attention) == (32, 512)


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "best"},
        {"groups": -1},
        {"group_hidden": 0},
        {"type_size": 0},
        {"sharpness": 0.0},
        {"noise": -1.0},
        {"hidden": 7},
        {"signal": "cube"},
        {"redraws": -1},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError, match=rf"bad value in 'placer': .*\b{next(iter(settings))}\b"):
        HIERARCHICAL.config(settings)


def test_failures_make_a_placement_less_likely():
    of, failed = problem(chain(("Add", "Sin") * 3)), []
    placer = built(of, **LEARNED_ALONE, groups=2, hidden=16, learning_rate=0.01)
    for number in range(250):
        (asked,) = placer.ask(1)
        failed.append(bool(asked.device_of[0] == 0))
        placer.tell([trial_of(number, asked, np.inf if failed[-1] else 1.0)])
    assert np.mean(failed[-50:]) < 0.2


def test_the_published_preset_runs_and_ends_in_one_placement():
    of = problem(diamond())
    placer = built(of, preset="paper", hidden=16, attention=16, draws=5)
    assert len(advance(placer, 12)) == 12
    placer, settled = built(of, preset="paper", hidden=16, attention=16, draws=5, learning_rate=1e-12), []
    for number in range(12):
        (placement,) = placer.ask(1)
        settled.append(placement.hash)
        placer.tell([trial_of(number, placement, 1.0)])
    assert len(set(settled[5:])) == 1


def test_uniform_placements_come_first():
    of = problem(diamond(), n_devices=3)
    placer = built(of)
    assert [placer.ask(1)[0].used for _ in range(3)] == [(name,) for name in of.device_names]
