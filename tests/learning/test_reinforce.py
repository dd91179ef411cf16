"""REINFORCE: signal, baseline and ignored failures by hand-computed numbers, and the direction of learning."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import inf, log, sqrt

import numpy as np
import pytest
import torch
from torch import nn

from ovplace.errors import DivergedError
from ovplace.learning.objectives import surrogate_gain
from ovplace.learning.optimiser import Optimiser
from ovplace.learning.reinforce import Reinforce, ReinforceProgress, ReinforceSettings, SampledPolicy
from ovplace.learning.tensors_text import tensors_from_text
from ovplace.placers._base.policy_gradient import PolicyGradientSettings

PLAIN = {
    "signal": "sqrt", "failure_ratio": 100.0, "baseline": "failure", "decay": 0.9, "normalised": False, "epochs": 1,
    "clip": 0.0, "entropy": 0.0, "entropy_end": 0.0, "max_grad_norm": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("samples", [0, 2**63])
def test_a_batch_has_a_sensible_size(samples):
    with pytest.raises(ValueError, match=f"samples must be between 1 and 1000000, got {samples}"):
        ReinforceSettings(samples=samples)


class Table(SampledPolicy):
    """One decision between three options; as simple as a policy can be."""

    def __init__(self, logits=(0.0, 0.0, 0.0)):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def log_p(self, actions):
        log_p = torch.log_softmax(self.logits, dim=0)
        return log_p[torch.from_numpy(actions[:, 0])], -(log_p.exp() * log_p).sum()

    @property
    def p(self):
        return torch.softmax(self.logits.detach(), dim=0).tolist()


def settings(**more):
    return ReinforceSettings(**(PLAIN | more))


def actions(*numbers):
    return np.array(numbers)[:, None]


def gradient(learner):
    """Return the last gradient: after one step, Adam's first moment is a tenth of it."""
    tensors, _ = tensors_from_text(learner.dump())
    return tensors["moment 0 exp_avg"] / 0.1


def test_the_baseline_starts_at_the_signal_of_a_failure_and_moves():
    progress = ReinforceProgress()
    advantage, counts = progress.advantages(settings(), np.array([4.0, inf, 1.0]))
    assert advantage == pytest.approx([10 - 2, 0, 10 - 1])
    assert counts.all()
    assert progress.baseline == pytest.approx(10 + 0.1 * ((2 + 10 + 1) / 3 - 10))
    before = progress.baseline
    advantage, _ = progress.advantages(settings(), np.array([9.0]))
    assert advantage == pytest.approx([before - 3])
    assert progress.baseline == pytest.approx(0.9 * before + 0.1 * 3)


def test_the_baseline_starts_at_the_first_mean():
    progress = ReinforceProgress()
    advantage, _ = progress.advantages(settings(baseline="first"), np.array([4.0, 16.0]))
    assert advantage == pytest.approx([1.0, -1.0])
    assert progress.baseline == pytest.approx(3.0)


def test_late_failures_do_not_count():
    early, late = (
        ReinforceProgress(updates=6, baseline=5.0, variance=1.0),
        ReinforceProgress(updates=7, baseline=5.0, variance=1.0),
    )
    ratios = np.array([4.0, inf])
    _, counts = early.advantages(settings(drop_failures_after=7), ratios)
    assert counts.all()
    assert early.baseline == pytest.approx(5 + 0.1 * ((2 + 10) / 2 - 5))
    advantage, counts = late.advantages(settings(drop_failures_after=7), ratios)
    assert counts.tolist() == [True, False]
    assert advantage[0] == pytest.approx(3.0)
    assert late.baseline == pytest.approx(5 + 0.1 * (2 - 5))


def test_late_updates_of_failures_alone_change_nothing():
    policy = Table()
    learner = Reinforce(policy, settings(drop_failures_after=0))
    learner.learn(actions(0, 1), np.array([inf, inf]))
    assert policy.p == pytest.approx([1 / 3] * 3)
    assert (learner.progress.updates, learner.progress.baseline) == (1, None)
    learner.learn(actions(0, 1), np.array([1.0, inf]))
    assert policy.p[0] > 1 / 3


def test_a_failure_is_twice_the_worst_where_no_constant_is_given():
    progress = ReinforceProgress()
    advantage, _ = progress.advantages(settings(failure_ratio=0.0, baseline="first"), np.array([8.0, inf]))
    assert advantage == pytest.approx([(4 - sqrt(8)) / 2, (sqrt(8) - 4) / 2])
    assert progress.max_ratio == 8.0
    progress.advantages(settings(failure_ratio=0.0, baseline="first"), np.array([2.0]))
    assert progress.max_ratio == 8.0


@pytest.mark.parametrize(("signal", "of_three"), [("sqrt", sqrt(3)), ("identity", 3.0), ("log1p", log(4))])
def test_signals(signal, of_three):
    progress = ReinforceProgress(baseline=0.0, variance=0.0)
    advantage, _ = progress.advantages(settings(signal=signal), np.array([3.0]))
    assert advantage == pytest.approx([-of_three])


def test_normalised_advantages_are_in_moving_deviations():
    progress = ReinforceProgress()
    chosen = settings(normalised=True, baseline="first", signal="identity")
    advantage, _ = progress.advantages(chosen, np.array([1.0, 5.0]))
    assert advantage == pytest.approx([2 / 2.001, -2 / 2.001])
    advantage, _ = progress.advantages(chosen, np.array([3.0, 3.0]))
    assert advantage == pytest.approx([0.0, 0.0])
    assert progress.variance == pytest.approx(0.9 * 4)


def test_advantages_of_single_samples_are_in_deviations_from_the_baseline():
    progress, chosen = ReinforceProgress(), settings(samples=1, normalised=True, baseline="first", signal="identity")
    ratios = np.random.default_rng(0).normal(5.0, 1.0, 400)
    found = np.concatenate([progress.advantages(chosen, ratio[None])[0] for ratio in ratios])
    assert found[50:].std() == pytest.approx(1.0, abs=0.2)
    assert progress.variance == pytest.approx(1.0, abs=0.5)


@pytest.mark.parametrize("first", [[4.0], [inf, inf]], ids=["a single sample", "failures alone"])
def test_advantages_after_equal_samples_are_in_deviations_too(first):
    progress, chosen = ReinforceProgress(), settings(normalised=True, baseline="first", signal="identity")
    assert progress.advantages(chosen, np.array(first))[0] == pytest.approx(np.zeros(len(first)))
    advantage, _ = progress.advantages(chosen, np.array([3.0]))
    assert abs(advantage[0]) == pytest.approx(1.0, abs=0.01)
    assert abs(progress.advantages(chosen, np.array([2.0]))[0][0]) < 3.0


@pytest.mark.parametrize("more", [{}, {"clip": 0.2, "epochs": 4}, {"normalised": True, "baseline": "first"}], ids=str)
def test_fast_becomes_likely_and_slow_unlikely(more):
    policy = Table()
    learner = Reinforce(policy, settings(learning_rate=0.05, **more))
    for _ in range(30):
        learner.learn(actions(0, 1, 2), np.array([1.0, 4.0, inf]))
    assert policy.p[0] > policy.p[1] > policy.p[2]
    assert policy.p[0] > 0.4 > 0.2 > policy.p[2]


@pytest.mark.usefixtures("reversed_advantages")
def test_the_wrong_sign_would_be_seen():
    policy = Table()
    learner = Reinforce(policy, settings(learning_rate=0.05, baseline="first"))
    for _ in range(30):
        learner.learn(actions(0, 1, 2), np.array([1.0, 4.0, inf]))
    assert policy.p[0] < 1 / 3 < policy.p[2]


def test_the_gradient_is_that_of_the_formula():
    """1/K sum (R - B) grad log p, with grad log p of a softmax: one-hot minus p."""
    policy = Table((0.3, -0.2, 0.1))
    p = np.array(policy.p)
    learner = Reinforce(policy, settings())
    learner.learn(actions(0, 2, 2), np.array([4.0, 9.0, inf]))
    expected = sum(w * (np.eye(3)[a] - p) for a, w in ((0, 2 - 10), (2, 3 - 10), (2, 0.0))) / 3
    assert gradient(learner).numpy() == pytest.approx(expected, abs=1e-5)


def test_long_gradients_are_shortened():
    learner = Reinforce(Table(), settings(max_grad_norm=0.01))
    learner.learn(actions(0), np.array([1.0]))
    assert gradient(learner).norm().item() == pytest.approx(0.01, rel=1e-3)


def test_beyond_the_clip_nothing_is_gained():
    old = torch.zeros(4)
    log_p = torch.log(torch.tensor([1.3, 0.7, 1.1, 0.7])).requires_grad_()
    surrogate_gain(log_p, old, torch.tensor([1.0, -1.0, 1.0, 1.0]), 0.2).sum().backward()
    assert log_p.grad is not None
    assert log_p.grad.tolist() == pytest.approx([0.0, 0.0, 1.1, 0.7])


def test_entropy_keeps_options_open():
    kept = []
    for weight in (0.0, 1.0):
        policy = Table()
        learner = Reinforce(policy, settings(learning_rate=0.05, entropy=weight, entropy_end=weight))
        for _ in range(40):
            learner.learn(actions(0, 1), np.array([1.0, 1.5]))
        kept.append(min(policy.p))
    assert kept[1] > kept[0]


def test_the_entropy_weight_and_the_learning_rate_follow_their_schedules():
    chosen = settings(
        learning_rate=0.1,
        rate_decay=0.5,
        rate_decay_every=2,
        rate_decay_after=3,
        entropy=1.0,
        entropy_end=0.0,
        anneal=4,
    )
    learner, rates = Reinforce(Table(), chosen), []
    for _ in range(8):
        learner.learn(actions(0), np.array([1.0]))
        _, [group] = tensors_from_text(learner.dump())
        rates.append(group["lr"])
    assert rates == pytest.approx([0.1] * 5 + [0.05] * 2 + [0.025])
    weights = [chosen.entropy_at(update) for update in range(6)]
    assert weights == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0, 0.0])


def test_a_learner_goes_on_where_another_stopped():
    one, other = (Reinforce(Table(), ReinforceSettings()) for _ in range(2))
    ratios = np.array([1.0, 2.0, inf])
    one.learn(actions(0, 1, 2), ratios)
    text, progress = one.dump(), json.loads(json.dumps(asdict(one.progress)))
    one.learn(actions(2, 1, 0), ratios)
    other.restore(text)
    other.progress = ReinforceProgress(**progress)
    other.learn(actions(2, 1, 0), ratios)
    assert one.dump() == other.dump()
    assert one.progress == other.progress


@pytest.mark.parametrize(
    "wrong",
    [
        {"signal": "square"}, {"baseline": "zero"}, {"baseline": "failure", "failure_ratio": 0.0}, {"samples": 0},
        {"epochs": 0}, {"anneal": 0}, {"rate_decay_every": 0}, {"drop_failures_after": -1}, {"clip": -0.1},
        {"entropy": -1.0}, {"decay": 1.0}, {"rate_decay": 0.0}, {"rate_decay": 1.5}, {"learning_rate": -0.1},
        {"max_grad_norm": -1.0}, {"failure_ratio": float("inf")}, {"learning_rate": float("inf")},
        {"failure_ratio": 0.5},
    ],
    ids=str,
)  # fmt: skip
def test_bad_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ReinforceSettings(**wrong)


def test_bad_settings_of_a_search_are_refused():
    with pytest.raises(ValueError, match="redraws"):
        PolicyGradientSettings(redraws=-1)
    with pytest.raises(ValueError, match="samples"):
        PolicyGradientSettings(samples=0)
    for controllers in (0, 21):
        with pytest.raises(ValueError, match=rf"between 1 and 20, got {controllers}"):
            PolicyGradientSettings(controllers=controllers)


@pytest.mark.parametrize("max_grad_norm", [0.0, 1.0])
def test_an_update_after_which_the_weights_are_no_numbers_is_an_error(max_grad_norm):
    policy = Table()
    optimiser = Optimiser(policy, learning_rate=1e-3)
    (policy.logits * inf).sum().backward()
    with pytest.raises(DivergedError, match=r"the policy has diverged"):
        optimiser.step(max_grad_norm)


@pytest.mark.parametrize("rates", [(1e38, None), (1e300, None), (1e-3, 1e38)])
@pytest.mark.parametrize("fused", [False, True])
def test_a_rate_whose_step_is_no_float32_is_an_error(rates, fused):
    policy, (first, later) = Table(), rates
    optimiser = Optimiser(policy, first, fused=fused)
    policy.logits.sum().backward()
    with pytest.raises(DivergedError, match=r"lower placer\.learning_rate"):
        optimiser.step(1.0, later)


def test_the_clipped_gain_of_a_probability_that_soared_has_a_gradient():
    log_p = torch.tensor([200.0], requires_grad=True)
    surrogate_gain(log_p, torch.zeros(1), torch.tensor([-1.0]), 0.2).sum().backward()
    assert torch.isfinite(log_p.grad).all()
