"""Draws placements from a policy, one after the other, as episodes go."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.dropout import dropping
from ovplace.learning.sampling import by_probability
from ovplace.placers.hsdag.grouper import Level, drawn_level, parsed_level, tied_level
from ovplace.placers.hsdag.learner import Encoding, Step, log_p_of
from ovplace.placers.hsdag.policy import Output, Policy, PolicyGraph

MOST_LEVELS = 20
"""Each level at least halves the nodes that have edges."""


@dataclass(frozen=True)
class Rules:
    """How placements are drawn.

    Attributes:
        grouping: `parsed` by learned scores, `drawn` by them, parsed by `random` scores, or `fixed`: each owner alone.
        levels: how often the graph is parsed; 0 draws it from learned probabilities of stopping.
        state_update: each step's embeddings are the next step's state; else all steps of a buffer have one encoding.
        dropout: each step is drawn from a network with dropout.
    """

    grouping: str
    levels: int
    state_update: bool
    dropout: bool = False


@dataclass
class Rollout:
    """One buffer of steps, all drawn with the same weights.

    Attributes:
        graph: what the policy sees.
        owner: what cannot be placed apart: nodes of one number, `[N]`.
        rules: how placements are drawn.
        encodings: so far.
        steps: so far.
    """

    graph: PolicyGraph
    owner: IntArray
    rules: Rules
    encodings: list[Encoding] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    _embedded: torch.Tensor | None = field(default=None, repr=False)
    _last: Output | None = field(default=None, repr=False)
    _before: tuple[Output | None, int] = field(default=(None, 0), repr=False)
    _chance: float = 0.0

    def draw(self, policy: Policy, rng: np.random.Generator, chance: float = 0.0) -> IntArray:
        """Draw the next step, and return the device of each owner's nodes, `[G]`.

        Args:
            policy: what draws.
            rng: its dice.
            chance: weight of mere chance in all that is drawn, 0 for the policy alone.
        """
        self._before, self._chance = (self._last, len(self.encodings)), chance
        with torch.no_grad():
            out = self._encoded(policy, rng)
            p = self._mixed(out.log_p.double().exp().numpy(), out.log_p.isfinite().numpy())
            devices = by_probability(p, rng.random(len(p)))
            log_p = log_p_of(out, [devices], [0], 1, self.rules.levels == 0)
        self.steps.append(Step(len(self.encodings) - 1, devices, float(log_p[0])))
        choice = np.empty(int(self.owner.max()) + 1, dtype=np.int64)
        choice[self.owner] = devices[out.parsed.group_of]
        return choice

    def undo(self) -> None:
        """Take the last step back."""
        self.steps.pop()
        self._last, count = self._before
        del self.encodings[count:]

    def _mixed(self, p: FloatArray, possible: BoolArray) -> FloatArray:
        """Return probabilities `[C, D]` mixed with equal ones of what is possible."""
        equal = possible / possible.sum(axis=1, keepdims=True)
        return np.asarray((1 - self._chance) * p + self._chance * equal)

    def encoding(self, policy: Policy, rng: np.random.Generator) -> Encoding:
        """Return how the policy encodes and parses the graph without a state."""
        with torch.no_grad():
            return Encoding(None, self._say(policy, None, rng).parsed.levels)

    def _encoded(self, policy: Policy, rng: np.random.Generator) -> Output:
        """Return what the policy says for the next step: again, where neither the state nor the parse can differ."""
        rules = self.rules
        surely = rules.grouping in ("parsed", "fixed") and rules.levels != 0 and not rules.dropout
        same = surely and not rules.state_update
        if self._last is None or not same:
            state = policy.next_state(self._last) if rules.state_update and self._last else None
            with dropping(policy, int(rng.integers(2**31))) if rules.dropout else nullcontext():
                self._last = self._say(policy, state, rng)
            self.encodings.append(Encoding(state, self._last.parsed.levels))
        return self._last

    def _say(self, policy: Policy, state: torch.Tensor | None, rng: np.random.Generator) -> Output:
        first = iter([True])

        def grouping(n_nodes: int, pairs: IntArray, scores: FloatArray) -> Level:
            lowest = next(first, False)
            if self.rules.grouping == "fixed":
                return _fixed(self.owner, pairs.shape[1])
            if self.rules.grouping == "drawn":
                level = drawn_level(n_nodes, pairs, self._even(scores), rng)
            else:
                level = parsed_level(
                    n_nodes, pairs, rng.random(len(scores)) if self.rules.grouping == "random" else scores
                )
            return tied_level(level, self.owner) if lowest else level

        if self._embedded is None:
            self._embedded = policy.embedded(self.graph)
        out: Output = policy(self.graph, [state], grouping, self._more(rng), self._embedded)
        return out

    def _more(self, rng: np.random.Generator) -> Callable[[int, float], bool]:
        if self.rules.grouping == "fixed":
            return lambda *_: False
        if self.rules.levels:
            return lambda level, _: level < self.rules.levels
        return lambda level, p_stop: level < MOST_LEVELS and bool(rng.random() >= self._even(p_stop))

    def _even(self, p: Any) -> Any:
        """Return a probability, or an array of them, moved towards one half by the weight of chance."""
        return (1 - self._chance) * p + self._chance / 2


def said_of_owners(policy: Policy, graph: PolicyGraph, owner: IntArray) -> torch.Tensor:
    """Return the log probability of each device for each owner's nodes by themselves, `[G, D]`: one forward pass."""
    out: Output = policy(graph, [None], lambda _, pairs, __: _fixed(owner, pairs.shape[1]), lambda *_: False)
    return out.log_p


def _fixed(owner: IntArray, n_pairs: int) -> Level:
    return Level(owner, np.zeros(0, dtype=np.int64), int(owner.max(initial=-1)) + 1, n_pairs)
