"""Sequence-to-sequence network with attention that chooses a device for one group after another.

Source: Mirhoseini et al., "Device placement optimization with reinforcement learning", ICML 2017, arXiv 1706.04972,
section 3.2; attention of Bahdanau et al., ICLR 2015, arXiv 1409.0473, section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.objectives import entropy_terms, perturbed
from ovplace.learning.sampling import sample_categorical
from ovplace.placers.seq2seq.attention import attend
from ovplace.placers.seq2seq.config import Seq2SeqSettings

Pick = Callable[[FloatArray, int], IntArray]
"""Chooses devices `[K]` from the probabilities `[K, D]` of a step and the index of the step."""


@dataclass(frozen=True, eq=False)
class EncodedSequence:
    """Output of the encoder for one sequence, or for one each of K samples; B is 1 or K.

    Attributes:
        memory: output at each group, `[B, G, H]`.
        keys: keys of the attention, `[B, G, A]`.
        last: last state, two of `[1, B, H]`.
    """

    memory: Tensor
    keys: Tensor
    last: tuple[Tensor, Tensor]


class Seq2Seq(nn.Module):
    """LSTM encoder, and LSTM decoder with additive attention that receives the device chosen before.

    The context of the attention enters the device's logits, not the decoder's next state: for given devices all states
    are computed in one call, and attention in batches of steps.
    """

    def __init__(self, n_features: int, n_devices: int, settings: Seq2SeqSettings, stay: float | None = None) -> None:
        """Build the network; weights are drawn from torch's global generator.

        Args:
            n_features: features of a group F.
            n_devices: number of devices D.
            settings: sizes and kinds of layers.
            stay: initial value of a learned term in the logit of the previous device; None for no such term.
        """
        super().__init__()
        self.settings = settings
        width, both = settings.hidden, settings.bidirectional
        self.encoder = nn.LSTM(n_features, width // 2 if both else width, batch_first=True, bidirectional=both)
        self.keys = nn.Linear(width, settings.attention, bias=False)
        self.query = nn.Linear(width, settings.attention)
        self.score = nn.Parameter(torch.empty(settings.attention).uniform_(-1, 1) / settings.attention**0.5)
        self.device = nn.Embedding(n_devices + 1, width)  # the last stands for "none yet"
        self.decoder = nn.LSTM(width * 2 if settings.aligned else width, width, batch_first=True)
        self.classify = nn.Linear(width * 2, n_devices)
        self.stay = None if stay is None else nn.Parameter(torch.tensor(stay))

    def draw(
        self,
        x: Tensor,
        allowed: BoolArray,
        uniforms: FloatArray,
        noise: FloatArray | None = None,
        exploration_rate: FloatArray | None = None,
    ) -> IntArray:
        """Return devices drawn by inverse-transform sampling, `[K, G]`.

        Args:
            x: features of the groups in the order of decision, `[K, G, F]`, or `[1, G, F]` for K samples of one graph.
            allowed: which device can run which group, at least one each, `[K, G, D]` or `[1, G, D]`.
            uniforms: a number from [0, 1) for each decision, `[K, G]`.
            noise: added to the logits in units of a step's root mean square, `[K, G, D]`.
            exploration_rate: weight of the uniform distribution over allowed devices in the mixture, `[K]`.
        """
        weight = np.zeros(len(uniforms)) if exploration_rate is None else exploration_rate
        even = allowed / allowed.sum(axis=2, keepdims=True)

        def pick(p: FloatArray, step: int) -> IntArray:
            return sample_categorical((1 - weight[:, None]) * p + weight[:, None] * even[:, step], uniforms[:, step])

        return self._decode(x, allowed, len(uniforms), pick, noise)

    def greedy(self, x: Tensor, allowed: BoolArray) -> IntArray:
        """Return the most probable device of each step given the previous ones, `[K, G]`.

        Args:
            x: features of the groups in the order of decision, `[K, G, F]` or `[1, G, F]`.
            allowed: which device can run which group, at least one each, `[K, G, D]` or `[1, G, D]`.
        """
        return self._decode(x, allowed, max(len(x), len(allowed)), lambda p, _: p.argmax(axis=1).astype(np.int64))

    def log_p(
        self, x: Tensor, allowed: BoolArray, devices: IntArray, noise: FloatArray | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the log probability of sequences, `[K]`, and the mean entropy of a step, nats.

        Memory grows with G, not with its square (see `attend`).

        Args:
            x: features, `[K, G, F]` or `[1, G, F]`.
            allowed: possible devices, `[K, G, D]` or `[1, G, D]`.
            devices: the sequences, `[K, G]`.
            noise: added to the logits in units of a step's root mean square, `[K, G, D]`.
        """
        encoded = self._encode(x)
        chosen = torch.from_numpy(devices)
        before = torch.cat([torch.full_like(chosen[:, :1], self._none), chosen[:, :-1]], dim=1)
        h, _ = self.decoder(self._inputs(encoded, before), _for_samples(encoded.last, len(chosen)))
        log_p = torch.log_softmax(self._masked(self._logits(encoded, h, before), allowed, noise), dim=2)
        entropy = entropy_terms(log_p).sum(dim=2).mean()
        return log_p.gather(2, chosen[:, :, None]).sum(dim=(1, 2)), entropy

    @property
    def _none(self) -> int:
        """Index of the embedding for the absence of a previous device."""
        return self.device.num_embeddings - 1

    def _encode(self, x: Tensor) -> EncodedSequence:
        memory, last = self.encoder(x)
        h, c = (state.transpose(0, 1).reshape(1, len(x), -1) for state in last)  # directions side by side
        return EncodedSequence(memory, self.keys(memory), (h.contiguous(), c.contiguous()))

    def _inputs(self, encoded: EncodedSequence, before: Tensor) -> Tensor:
        """Return the decoder's inputs at all steps, `[K, G, H or 2 H]`, after devices `[K, G]`."""
        fed: Tensor = self.device(before)
        if not self.settings.aligned:
            return fed
        return torch.cat([fed, encoded.memory.expand(len(before), -1, -1)], dim=2)

    def _logits(self, encoded: EncodedSequence, h: Tensor, before: Tensor) -> Tensor:
        """Return the logits `[K, T, D]` of decoder states `[K, T, H]` after devices `[K, T]`."""
        context = attend(self.query(h), encoded.keys, self.score, encoded.memory)
        logits: Tensor = self.classify(torch.cat([h, context], dim=2)) / self.settings.temperature
        limit = self.settings.tanh_constant
        logits = limit * torch.tanh(logits) if limit else logits
        if self.stay is None:
            return logits
        return logits + self.stay * nn.functional.one_hot(before, self._none + 1)[:, :, : self._none]

    def _masked(self, logits: Tensor, allowed: BoolArray, noise: FloatArray | None, at: slice = slice(None)) -> Tensor:
        if noise is not None:
            logits = perturbed(logits, noise[:, at])
        return logits.masked_fill(torch.from_numpy(~allowed[:, at]), float("-inf"))

    @torch.no_grad()
    def _decode(
        self, x: Tensor, allowed: BoolArray, samples: int, pick: Pick, noise: FloatArray | None = None
    ) -> IntArray:
        """Return the devices chosen by `pick` step by step, `[K, G]`."""
        encoded = self._encode(x)
        h, c = (part[0] for part in _for_samples(encoded.last, samples))
        of_device, of_group = self._input_gates(encoded)
        chosen = np.full((samples, x.shape[1] + 1), self._none, dtype=np.int64)  # one to the right of its step
        for step in range(x.shape[1]):
            before = torch.from_numpy(chosen[:, step : step + 1])
            h, c = self._cell(of_device[before[:, 0]] + of_group[:, step], h, c)
            logits = self._masked(self._logits(encoded, h[:, None], before), allowed, noise, slice(step, step + 1))
            p = torch.softmax(logits[:, 0].double(), dim=1).numpy()
            chosen[:, step + 1] = pick(p, step)
        return chosen[:, 1:]

    def _input_gates(self, encoded: EncodedSequence) -> tuple[Tensor, Tensor]:
        """Return what the decoder's inputs add to its gates: each device `[D + 1, 4 H]`, each group `[B, G, 4 H]`.

        All of it at once: a step then reads half of the weights, which takes most of its time where they are many.
        """
        weights: dict[str, Tensor] = dict(self.decoder.named_parameters())
        read, width = weights["weight_ih_l0"], self.settings.hidden
        bias = weights["bias_ih_l0"] + weights["bias_hh_l0"]
        of_device = nn.functional.linear(self.device.weight, read[:, :width], bias)
        if not self.settings.aligned:
            return of_device, of_device.new_zeros(1, encoded.memory.shape[1], 1)
        return of_device, nn.functional.linear(encoded.memory, read[:, width:])

    def _cell(self, gates: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Return the decoder's next state, two of `[K, H]`, from the gates of its inputs, `[K, 4 H]`."""
        recurrent: Tensor = self.decoder.get_parameter("weight_hh_l0")
        i, f, g, o = (gates + nn.functional.linear(h, recurrent)).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


def _for_samples(state: tuple[Tensor, Tensor], samples: int) -> tuple[Tensor, Tensor]:
    """Return the state of an encoder, `[1, B, H]`, repeated for K decoders, `[1, K, H]`."""
    h, c = (part.expand(-1, samples, -1).contiguous() for part in state)
    return h, c
