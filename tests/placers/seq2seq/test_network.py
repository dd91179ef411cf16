"""The sequence-to-sequence network against enumeration, plain attention and finite differences."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
import torch

from ovplace.learning.initialise import seeded
from ovplace.placers.seq2seq import attention
from ovplace.placers.seq2seq import network as networks
from ovplace.placers.seq2seq.attention import attend
from ovplace.placers.seq2seq.config import Seq2SeqSettings
from ovplace.placers.seq2seq.network import Seq2Seq

GROUPS, DEVICES, FEATURES = 4, 3, 5
KINDS = [
    {"bidirectional": bidirectional, "aligned": aligned, "tanh_constant": limit, "stay": stay}
    for bidirectional, aligned, (limit, stay) in product((False, True), (False, True), ((0.0, 1.0), (1.5, None)))
]


def network(seed=1, devices=DEVICES, stay=None, **settings):
    sizes = {"hidden": 8, "attention": 4} | settings
    return seeded(lambda: Seq2Seq(FEATURES, devices, Seq2SeqSettings(**sizes), stay), seed)


def sharp(of):
    """Give a network larger weights, so that its probabilities are far from even."""
    with torch.no_grad():
        for weight in of.parameters():
            weight.mul_(3.0)
    return of


def graph(samples=1, groups=GROUPS, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(samples, groups, FEATURES))).float()


def anywhere(groups=GROUPS, devices=DEVICES):
    return np.ones((1, groups, devices), dtype=bool)


def restricted():
    allowed = anywhere()
    allowed[0, 1, 2] = allowed[0, 2, :2] = False
    return allowed


def every_sequence():
    return np.array(list(product(range(DEVICES), repeat=GROUPS)))


def probabilities(of, x, allowed, **more):
    """Return the probability of every sequence as an array with an axis a step."""
    with torch.no_grad():
        log_p, _ = of.log_p(x, allowed, every_sequence(), **more)
    return log_p.double().exp().numpy().reshape((DEVICES,) * GROUPS)


def conditional(p, prefix):
    """Return the probabilities of the next device after some."""
    rest = p[tuple(prefix)]
    found = rest.sum(axis=tuple(range(1, rest.ndim)))
    return found / found.sum()


@pytest.mark.parametrize("allowed", [anywhere(), restricted()], ids=["anywhere", "restricted"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_probabilities_of_all_sequences_sum_to_one(kind, allowed):
    p = probabilities(sharp(network(**kind)), graph(), allowed)
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    possible = allowed[0][np.arange(GROUPS), every_sequence()].all(axis=1).reshape(p.shape)
    assert (p[~possible] == 0).all()
    assert (p[possible] > 0).all()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_drawn_has_the_probability_that_is_said(kind):
    """Inverse-transform sampling by the conditionals of the enumerated probabilities draws the same."""
    of, allowed = sharp(network(**kind)), restricted()
    p = probabilities(of, graph(), allowed)
    uniforms = np.random.default_rng(3).random((40, GROUPS))
    for drawn, row in zip(of.draw(graph(), allowed, uniforms), uniforms, strict=True):
        prefix: list[int] = []
        for u in row:
            prefix.append(int((u >= conditional(p, prefix).cumsum()).sum()))
        assert drawn.tolist() == prefix


def test_draws_that_ignore_the_device_before_would_be_seen():
    of, ignorant = (sharp(network(aligned=False)) for _ in range(2))
    with torch.no_grad():
        ignorant.device.weight[:] = ignorant.device.weight[0]
    fed = [conditional(probabilities(of, graph(), anywhere()), prefix) for prefix in ([0], [1])]
    blind = [conditional(probabilities(ignorant, graph(), anywhere()), prefix) for prefix in ([0], [1])]
    assert abs(fed[0] - fed[1]).max() > 1e-3
    assert blind[0] == pytest.approx(blind[1], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS[:2], ids=str)
def test_greedy_takes_the_most_probable_next_device(kind):
    of = sharp(network(**kind))
    p = probabilities(of, graph(), restricted())
    prefix: list[int] = []
    for _ in range(GROUPS):
        prefix.append(int(conditional(p, prefix).argmax()))
    assert of.greedy(graph(), restricted()).tolist() == [prefix]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_one_graph_for_all_samples_is_as_good_as_copies(kind):
    of, copies = network(**kind), graph().expand(7, -1, -1)
    uniforms = np.random.default_rng(4).random((7, GROUPS))
    drawn = of.draw(graph(), restricted(), uniforms)
    assert np.array_equal(of.draw(copies, np.tile(restricted(), (7, 1, 1)), uniforms), drawn)
    for one, seven in zip(of.log_p(graph(), restricted(), drawn), of.log_p(copies, restricted(), drawn), strict=True):
        torch.testing.assert_close(one, seven)


def test_each_sample_may_be_of_a_graph_of_its_own():
    of, x = network(), graph(samples=3)
    devices = np.random.default_rng(5).integers(DEVICES, size=(3, GROUPS))
    together, _ = of.log_p(x, anywhere(), devices)
    alone = [of.log_p(x[i : i + 1], anywhere(), devices[i : i + 1])[0] for i in range(3)]
    torch.testing.assert_close(together, torch.cat(alone))


def test_the_order_of_the_groups_matters():
    of = sharp(network())
    assert probabilities(of, graph(), anywhere()) != pytest.approx(probabilities(of, graph().flip(1), anywhere()))


def test_the_entropy_is_that_of_the_decisions():
    of, allowed = network(tanh_constant=1.0), anywhere()
    with torch.no_grad():
        for weight in of.classify.parameters():
            weight.zero_()
    _, entropy = of.log_p(graph(), allowed, every_sequence())
    assert entropy.item() == pytest.approx(np.log(DEVICES))
    allowed[0, 0, 1:] = False
    _, entropy = of.log_p(graph(), allowed, np.array([[0, 0, 0, 0]]))
    assert entropy.item() == pytest.approx(np.log(DEVICES) * (GROUPS - 1) / GROUPS)


def test_noise_and_chance_move_what_is_drawn():
    of = sharp(network())
    uniforms = np.random.default_rng(6).random((3000, GROUPS))
    noise = np.zeros((3000, GROUPS, DEVICES))
    noise[:, :, 1] = 100.0
    assert (of.draw(graph(), anywhere(), uniforms, noise=noise) == 1).all()
    shifted = probabilities(of, graph(), anywhere(), noise=noise[:1])
    assert shifted[1, 1, 1, 1] == pytest.approx(1.0)
    drawn = of.draw(graph(), restricted(), uniforms, exploration_rate=np.ones(3000))
    assert (drawn[:, 2] == 2).all()
    assert np.bincount(drawn[:, 1]) / 3000 == pytest.approx([0.5, 0.5], abs=0.05)
    assert np.bincount(drawn[:, 0]) / 3000 == pytest.approx([1 / 3] * 3, abs=0.05)


def test_the_tanh_constant_bounds_probabilities_and_the_temperature_evens_them():
    bounded = probabilities(sharp(network(tanh_constant=0.5)), graph(), anywhere())
    highest = np.exp(0.5) / (np.exp(0.5) + 2 * np.exp(-0.5))
    assert bounded.max() <= highest**GROUPS + 1e-6
    hot, cold = (probabilities(sharp(network(temperature=t)), graph(), anywhere()).max() for t in (10.0, 0.1))
    assert hot < cold


def test_an_inclination_to_stay_keeps_the_device():
    uniforms = np.random.default_rng(11).random((500, 40))
    changes = []
    for stay in (None, 3.0):
        drawn = network(devices=2, stay=stay).draw(graph(groups=40), anywhere(40, 2), uniforms)
        changes.append((np.diff(drawn, axis=1) != 0).mean())
    assert changes == pytest.approx([0.5, 1 / (1 + np.exp(3.0))], abs=0.05)


def test_torch_has_no_part_in_the_draws():
    of, uniforms = network(), np.random.default_rng(7).random((2, GROUPS))
    before = torch.get_rng_state()
    first = of.draw(graph(), anywhere(), uniforms)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert np.array_equal(of.draw(graph(), anywhere(), uniforms), first)


@pytest.mark.parametrize("memories", [1, 3])
def test_attention_is_what_its_formula_says(memories, monkeypatch):
    rng = np.random.default_rng(8)
    query, keys, score, memory = (
        torch.from_numpy(rng.normal(size=size)) for size in ((3, 6, 4), (memories, 5, 4), (4,), (memories, 5, 2))
    )
    for chunk in (1, 50, 10_000):
        monkeypatch.setattr(attention, "CHUNK", chunk)
        torch.testing.assert_close(attend(query, keys, score, memory), _plain(query, keys, score, memory))


@pytest.mark.parametrize("chunk", [1, 50, 10_000])
@pytest.mark.parametrize("memories", [1, 3])
def test_the_gradient_of_attention_agrees_with_finite_differences(memories, chunk, monkeypatch):
    monkeypatch.setattr(attention, "CHUNK", chunk)
    rng = np.random.default_rng(9)
    sizes = ((3, 6, 4), (memories, 5, 4), (4,), (memories, 5, 2))
    inputs = [torch.from_numpy(rng.normal(size=size)).requires_grad_() for size in sizes]
    assert torch.autograd.gradcheck(attend, inputs)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_gradient_of_log_p_agrees_with_finite_differences(kind):
    of, x, devices = network(**kind).double(), graph().double(), np.array([[0, 1, 2, 0], [2, 0, 2, 1]])
    loss = _loss(of, x, devices)
    loss.backward()
    rng = np.random.default_rng(10)
    for name, weight in of.named_parameters():
        direction = torch.from_numpy(rng.normal(size=tuple(weight.shape)))
        expected = (weight.grad * direction).sum().item()
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                weight.add_(direction, alpha=sign * 1e-5)
                values.append(_loss(of, x, devices).item())
                weight.sub_(direction, alpha=sign * 1e-5)
        assert (values[0] - values[1]) / 2e-5 == pytest.approx(expected, rel=1e-4, abs=1e-8), name


def _loss(of, x, devices):
    log_p, entropy = of.log_p(x, restricted(), devices)
    return log_p @ torch.tensor([1.0, -0.5], dtype=torch.double) + entropy


def test_what_is_kept_for_the_gradient_grows_with_the_groups_not_with_their_square(monkeypatch):
    assert _growth() == pytest.approx(2.0, abs=0.05)
    monkeypatch.setattr(networks, "attend", _plain)
    assert _growth() > 3.0, "attention that keeps its weights is seen"


def _plain(query, keys, score, memory):
    return torch.softmax(torch.tanh(query[:, :, None] + keys[:, None]) @ score, dim=2) @ memory


def _growth():
    """Return how much more is kept from 256 to 512 groups than from 128 to 256: 2 if linear, 4 if quadratic."""
    kept = [_kept(groups) for groups in (128, 256, 512)]
    return (kept[2] - kept[1]) / (kept[1] - kept[0])


def _kept(groups):
    """Return how many numbers autograd keeps of a pass."""
    total = 0

    def count(tensor):
        nonlocal total
        total += tensor.numel()
        return tensor

    of, devices = network(), np.zeros((2, groups), dtype=np.int64)
    with torch.autograd.graph.saved_tensors_hooks(count, lambda tensor: tensor):
        of.log_p(graph(groups=groups), anywhere(groups), devices)
    return total


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("devices", [1, 5])
def test_the_smallest_problems(groups, devices):
    of, allowed = network(devices=devices), anywhere(groups, devices)
    drawn = of.draw(graph(groups=groups), allowed, np.full((2, groups), 0.999999))
    log_p, entropy = of.log_p(graph(groups=groups), allowed, drawn)
    assert drawn.shape == (2, groups)
    assert torch.isfinite(log_p).all()
    assert (entropy.item() == pytest.approx(0.0)) == (devices == 1)


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden": 7}, {"hidden": 0}, {"attention": 0}, {"tanh_constant": -1.0}, {"temperature": 0.0},
        {"tanh_constant": inf}, {"temperature": inf},
    ],
    ids=str,
)  # fmt: skip
def test_bad_settings_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Seq2SeqSettings(**settings)
