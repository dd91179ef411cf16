"""Each published or filled-in size of `configs/placers/seq2seq.toml` against the network that `paper` builds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ovplace.learning.initialise import seeded
from ovplace.placers.seq2seq.policy import Seq2SeqPolicy
from ovplace.plugins import registry
from ovplace.testing.graphs import chain, problem

PAPER = registry.load("placers", "seq2seq").config({"preset": "paper"})
GROUPS, DEVICES = 6, 2


def published(groups=GROUPS):
    of = problem(chain(("Add", "Sin") * (groups // 2)), n_devices=DEVICES)
    of = replace(of, features=np.zeros((groups, 0)))
    return seeded(lambda: Seq2SeqPolicy(of, PAPER), 0)


def test_the_encoder_reads_in_one_direction():
    encoder = published().network.encoder
    assert (encoder.bidirectional, encoder.num_layers, encoder.hidden_size) == (False, 1, 128)


def test_the_decoder_reads_the_device_before_alone():
    network = published().network
    assert (network.decoder.input_size, network.decoder.hidden_size) == (128, 128)
    assert network.device.embedding_dim == 128
    assert network.stay is None


def test_the_attention_has_128_units_and_its_context_stands_beside_the_state():
    network = published().network
    assert network.keys.out_features == network.query.out_features == len(network.score) == 128
    assert network.classify.in_features == 2 * 128


def test_a_group_is_described_by_64_numbers_of_types_its_shapes_and_256_columns_of_neighbours_each_way():
    for groups, columns in ((GROUPS, GROUPS), (300, 256)):
        policy = published(groups)
        assert policy.types.out_features == 64
        assert policy.network.encoder.input_size == 64 + 6 * 4 + 2 * columns


@pytest.mark.parametrize("seed", range(2))
def test_the_network_computes_what_the_page_says(seed):
    """The context is the mean of the memory by attention, enters the logits, and not the decoder's next input."""
    policy = published()
    network, devices = policy.network, np.random.default_rng(seed).integers(DEVICES, size=(3, GROUPS))
    with torch.no_grad():
        found, _ = policy.log_p(devices)
        memory, last = network.encoder(policy._x())
        expected = [decoded(network, memory[0], last, row) for row in devices.tolist()]
    torch.testing.assert_close(found, torch.stack(expected))


def decoded(network, memory, last, devices):
    """Return the log probability of a device for each group."""
    state, before, total = last, DEVICES, torch.zeros(())  # no device was chosen yet
    for device in devices:
        h, state = network.decoder(network.device.weight[before].view(1, 1, -1), state)
        energy = torch.tanh(network.query(h[0]) + network.keys(memory)) @ network.score
        context = torch.softmax(energy, dim=0) @ memory
        total = total + torch.log_softmax(network.classify(torch.cat([h[0, 0], context])), dim=0)[device]
        before = device
    return total
