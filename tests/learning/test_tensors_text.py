"""Tensors as text: nothing is lost, nothing is pickled, and what is damaged is refused in one line."""

import base64
import pickle

import pytest
import torch
from torch import nn

from ovplace.errors import StoreError
from ovplace.learning.optimiser import Optimiser
from ovplace.learning.tensors_text import tensors_from_text, tensors_to_text


def optimiser():
    torch.manual_seed(0)
    return Optimiser(nn.Linear(3, 2), 0.1)


def step(of):
    of.network(torch.arange(3.0)).square().sum().backward()
    of.step(1.0)
    return of.dump()


def test_what_is_written_is_read():
    tensors = {"a b": torch.tensor([[1.5, float("inf")]]), "n": torch.tensor(3), "none": torch.zeros(0, 4)}
    found, about = tensors_from_text(tensors_to_text(tensors, {"x": [1]}))
    assert about == {"x": [1]}
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_a_restored_optimiser_goes_on_as_the_first():
    one, other = optimiser(), Optimiser(nn.Linear(3, 2), 0.5)
    fresh = one.dump()
    other.restore(fresh)
    assert other.dump() == fresh
    other.restore(step(one))
    assert step(other) == step(one)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[" * 100_000,
        b'{"version": 0, "tensors": [], "about": 0}\n',
        b'{"version": 1, "tensors": [["a", "<f4", [3]]], "about": 0}\nxx',
        b'{"version": 1, "tensors": [["a", "<f4", [1000000000, 1000000000]]], "about": 0}\n' + b"x" * 99,
        b'{"version": 1, "tensors": [["a", "O", [1]]], "about": 0}\n' + b"x" * 99,
        b'{"version": 1, "tensors": [["a", "<f4", [-3]]], "about": 0}\n' + b"x" * 99,
        pickle.dumps(print),
    ],
)
def test_anything_else_is_refused(data):
    with pytest.raises(StoreError, match="start a new run"):
        tensors_from_text(base64.b64encode(data).decode())
    with pytest.raises(StoreError, match="start a new run"):
        tensors_from_text("no base64")
