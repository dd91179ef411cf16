"""Rollout: placements drawn one after the other from the policy, with fixed weights.

Source: HSDAG, arXiv 2405.14185, section 2.5. Random draws of groupings and the mixture with uniform probabilities are
not published.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.sampling import sample_categorical
from ovplace.placers.hsdag.network.dropout import active_dropout
from ovplace.placers.hsdag.network.levels import Level, drawn_level, fixed_level, parsed_level, tied_level
from ovplace.placers.hsdag.network.policy import HsdagPolicy, PolicyOutput
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph
from ovplace.placers.hsdag.step import Encoding, RolloutStep, step_log_p

MAX_LEVELS = 20
"""Limit on the levels of a parse: a parsed level at least halves the nodes that have edges, a drawn one need not."""


@dataclass(frozen=True)
class RolloutSettings:
    """Settings of a rollout.

    Attributes:
        grouping: `parsed` by learned scores, `drawn` from them, parsed by `random` scores, or `fixed`: the problem's
            groups.
        levels: number of levels of the parse; 0 draws it from learned probabilities of stopping.
        state_update: the embeddings of a step are the state of the next; otherwise steps have no state.
        dropout: dropout is active while drawing.
    """

    grouping: str
    levels: int
    state_update: bool
    dropout: bool = False


@dataclass
class Rollout:
    """A buffer of steps drawn with the same weights.

    Attributes:
        graph: input of the policy.
        settings: settings of the draws.
        encodings: encodings of the graph so far.
        steps: steps so far.
    """

    graph: PolicyGraph
    settings: RolloutSettings
    encodings: list[Encoding] = field(default_factory=list)
    steps: list[RolloutStep] = field(default_factory=list)
    _embedded: torch.Tensor | None = field(default=None, repr=False)
    _last: PolicyOutput | None = field(default=None, repr=False)
    _before: tuple[PolicyOutput | None, int] = field(default=(None, 0), repr=False)
    _exploration_rate: float = 0.0

    def draw(self, policy: HsdagPolicy, rng: np.random.Generator, exploration_rate: float = 0.0) -> IntArray:
        """Draw the next step.

        Args:
            policy: the policy to draw from.
            rng: the only source of randomness.
            exploration_rate: weight of uniform probabilities in the mixture with the policy's own, 0 to 1.

        Returns:
            Device of each of the problem's groups, `[G]`.
        """
        self._before, self._exploration_rate = (self._last, len(self.encodings)), exploration_rate
        with torch.no_grad():
            out = self._encoded(policy, rng)
            p = self._mixed(out.log_p.double().exp().numpy(), out.log_p.isfinite().numpy())
            devices = sample_categorical(p, rng.random(len(p)))
            log_p = step_log_p(out, [devices], [0], self.encodings[-1:])
        self.steps.append(RolloutStep(len(self.encodings) - 1, devices, float(log_p[0])))
        choice = np.empty(int(self.graph.group_of.max()) + 1, dtype=np.int64)
        choice[self.graph.group_of] = devices[out.parsed.group_of]
        return choice

    def undo(self) -> None:
        """Remove the last step."""
        self.steps.pop()
        self._last, count = self._before
        del self.encodings[count:]

    def _mixed(self, p: FloatArray, possible: BoolArray) -> FloatArray:
        """Return probabilities `[C, D]` mixed with uniform ones over the possible devices."""
        equal = possible / possible.sum(axis=1, keepdims=True)
        return np.asarray((1 - self._exploration_rate) * p + self._exploration_rate * equal)

    def encoding(self, policy: HsdagPolicy, rng: np.random.Generator) -> Encoding:
        """Return an encoding of the graph without a state; it is not added to the buffer.

        Args:
            policy: the policy that encodes and parses.
            rng: the only source of randomness.
        """
        with torch.no_grad():
            return self._output(policy, None, rng)[1]

    def _encoded(self, policy: HsdagPolicy, rng: np.random.Generator) -> PolicyOutput:
        """Return the policy's output for the next step; the last one if neither state nor parse can differ."""
        settings = self.settings
        deterministic = settings.grouping in ("parsed", "fixed") and settings.levels != 0 and not settings.dropout
        same = deterministic and not settings.state_update
        if self._last is None or not same:
            state = policy.next_state(self._last) if settings.state_update and self._last else None
            with active_dropout(policy, int(rng.integers(2**31))) if settings.dropout else nullcontext():
                self._last, encoding = self._output(policy, state, rng)
            self.encodings.append(encoding)
        return self._last

    def _output(
        self, policy: HsdagPolicy, state: torch.Tensor | None, rng: np.random.Generator
    ) -> tuple[PolicyOutput, Encoding]:
        first = iter([True])

        def grouping(n_nodes: int, pairs: IntArray, scores: FloatArray) -> Level:
            lowest = next(first, False)
            if self.settings.grouping == "fixed":
                return fixed_level(self.graph.group_of, pairs.shape[1])
            if self.settings.grouping == "drawn":
                level = drawn_level(n_nodes, pairs, self._explored(scores), rng)
            else:
                level = parsed_level(
                    n_nodes, pairs, rng.random(len(scores)) if self.settings.grouping == "random" else scores
                )
            return tied_level(level, self.graph.group_of) if lowest else level

        if self._embedded is None or self.settings.dropout:
            self._embedded = policy.embedded(self.graph)
        levels = 1 if self.settings.grouping == "fixed" else self.settings.levels
        stops = _Stops(levels, self._explored, rng)
        out: PolicyOutput = policy(self.graph, [state], grouping, stops, self._embedded)
        return out, Encoding(state, out.parsed.levels, stops.drawn)

    def _explored(self, p: Any) -> Any:
        """Return a probability, or an array of them, mixed with one half."""
        return (1 - self._exploration_rate) * p + self._exploration_rate / 2


class _Stops:
    """Decides after each level of a parse whether another follows.

    Attributes:
        drawn: number of decisions that were drawn.
    """

    def __init__(self, levels: int, explored: Callable[[float], float], rng: np.random.Generator) -> None:
        """Start with none.

        Args:
            levels: number of levels; 0 draws it.
            explored: returns the probability of stopping to draw with, from the policy's.
            rng: the only source of randomness.
        """
        self.drawn = 0
        self._levels, self._explored, self._rng = levels, explored, rng

    def __call__(self, level: int, p_stop: float) -> bool:
        """Return whether another level follows the first `level` ones."""
        if self._levels or level >= MAX_LEVELS:
            return level < self._levels
        self.drawn += 1
        return bool(self._rng.random() >= self._explored(p_stop))
