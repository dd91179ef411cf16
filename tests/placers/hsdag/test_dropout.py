from __future__ import annotations

import pytest
import torch

from ovplace.placers.hsdag.network.dropout import Dropout


def dropped(p, shape, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Dropout(p).train()(torch.ones(shape))


@pytest.mark.parametrize("p", [0.1, 0.2, 0.5, 0.9])
def test_as_many_are_zeroed_as_is_said_and_the_mean_stays(p):
    out = dropped(p, (500, 2000))  # standard deviation of the share: at most 0.0005
    assert float((out == 0).float().mean()) == pytest.approx(p, abs=0.003)
    assert float(out.mean()) == pytest.approx(1.0, abs=0.02)
    assert len(out.unique()) == 2


def test_neighbours_are_independent():
    zero = (dropped(0.5, (1_000_003,)) == 0).float()
    for step in (1, 2, 3, 4):  # a random word has four numbers
        both = zero[step:] * zero[:-step]
        assert float(both.mean()) == pytest.approx(0.25, abs=0.003)


def test_the_seed_decides():
    assert torch.equal(dropped(0.3, (7, 5)), dropped(0.3, (7, 5)))
    assert not torch.equal(dropped(0.3, (7, 5)), dropped(0.3, (7, 5), seed=1))


def test_nothing_is_dropped_when_drawing_or_by_no_chance():
    h = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    assert Dropout(0.5).eval()(h) is h
    assert Dropout(0.0).train()(h) is h


def test_almost_everything_can_be_dropped():
    out = dropped(1 - 1e-9, (2**20,))
    assert 1 <= int((out > 0).sum()) <= 40
    assert set(out.unique().tolist()) == {0.0, 2.0**16}


def test_the_gradient_passes_where_a_number_was_kept():
    h = torch.ones(50, requires_grad=True)
    out = Dropout(0.5).train()(h)
    out.sum().backward()
    assert torch.equal(h.grad, out.detach())
