"""Placeto's decision process: group by group, an existing placement is improved.

State: the placement, and which group is current. Action: the device of the current group. Reward: by how much that
lowers the latency. Several episodes run side by side; whose latency it is, and what it is measured by, is not known
here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.sampling import by_probability
from ovplace.placers.placeto.network import Placeto
from ovplace.placers.placeto.observation import PlacetoGraph, label_free, pair_features, view_features


@dataclass(frozen=True)
class Rules:
    """How an episode goes.

    Attributes:
        sweeps: visits of each group.
        encodings: how often a sweep encodes the model as it is placed then; 0 at each step.
        evaluations: how often a sweep evaluates its placement, at most; 0 at each step.
        coherent: episodes draw stretches of groups by one random number, from single groups in the first episode to
            the whole sweep in the last one: each step still follows the policy, but regions move together.
    """

    sweeps: int = 1
    encodings: int = 2
    evaluations: int = 64
    coherent: bool = True


@dataclass(frozen=True, eq=False)
class Episodes:
    """B episodes of T steps side by side.

    Attributes:
        groups: group decided at each step, `[T]`.
        actions: device it went to, `[T, B]`.
        pairs: what was seen of it on each device, `[T, B, D, F]`.
        encoded: what was encoded at each block of steps, `[B, V, N, F]` each.
        block: steps between two encodings.
        marks: after how many steps placements were kept, 0 and T among them, `[C]`.
        visited: these, `[C, B, N]`.
    """

    groups: IntArray
    actions: IntArray
    pairs: Tensor
    encoded: tuple[Tensor, ...]
    block: int
    marks: IntArray
    visited: IntArray


def play(
    network: Placeto,
    graph: PlacetoGraph,
    start: IntArray,
    rules: Rules,
    rng: np.random.Generator | None = None,
    chance: float = 0.0,
) -> Episodes:
    """Run episodes from placements.

    Args:
        network: the policy.
        graph: what is placed.
        start: where each episode starts, `[B, N]`.
        rules: how it goes.
        rng: draws the devices; without, the most probable one is taken.
        chance: probability of a device at random instead.
    """
    n, device_of = len(graph), start.copy()
    groups = np.tile(graph.order, rules.sweeps)
    block = max(1, -(-n // rules.encodings)) if rules.encodings else 1
    marks = _marks(len(groups), rules.evaluations * rules.sweeps)
    visits, encoded, pairs, visited = np.zeros(n, dtype=np.int64), [], [], []
    actions = np.empty((len(groups), len(start)), dtype=np.int64)
    draws = None if rng is None else _draws(len(groups), len(start), n if rules.coherent else 1, rng)
    with torch.no_grad():
        for step, group in enumerate(groups.tolist()):
            if step in marks:
                visited.append(device_of.copy())
            if step % block == 0:
                encoded.append(_encoded(network, graph, device_of, visits, group))
                context = context_of(network, graph, encoded[-1][None], groups[None, step : step + block])[0]
            pairs.append(_pairs(network, graph, device_of, group))
            allowed = torch.from_numpy(graph.allowed[group])
            p = network.log_p(context[step % block], pairs[-1], allowed).exp().numpy().astype(np.float64)
            actions[step] = p.argmax(axis=1) if draws is None else _drawn(p, graph.allowed[group], draws[step], chance)
            device_of[:, group] = actions[step]
            visits[group] += 1
    visited.append(device_of)
    return Episodes(groups, actions, torch.stack(pairs), tuple(encoded), block, marks, np.stack(visited))


def _marks(steps: int, most: int) -> IntArray:
    count = min(steps, most) if most else steps
    return np.unique(np.linspace(0, steps, count + 1).round().astype(np.int64))


def _encoded(network: Placeto, graph: PlacetoGraph, device_of: IntArray, visits: IntArray, group: int) -> Tensor:
    describe = label_free if network.by_class else view_features
    return torch.from_numpy(describe(graph, device_of, visits, group)).float()


def context_of(network: Placeto, graph: PlacetoGraph, encoded: Tensor, groups: IntArray) -> Tensor:
    """Return the context of groups `[K, S]` in encodings `[K, B, V, N, F]`."""
    sets = torch.from_numpy(graph.sets[:, groups])
    found: Tensor = network.context(encoded, torch.from_numpy(graph.edges), torch.from_numpy(groups), sets)
    return found


def _pairs(network: Placeto, graph: PlacetoGraph, device_of: IntArray, group: int) -> Tensor:
    """Return what a group looks like on each device as all others are placed now, `[B, D, F]`."""
    if network.by_class:
        return torch.zeros(len(device_of), graph.n_devices, 0)
    moved_ms = graph.moves.group_ms(device_of, group)[:, None]
    return torch.from_numpy(pair_features(graph, device_of, np.array([group]), moved_ms)[:, :, 0]).float()


def _draws(steps: int, episodes: int, longest: int, rng: np.random.Generator) -> FloatArray:
    """Return random numbers that last for stretches of 1 step (first episode) to `longest` (last), `[T, B]`."""
    mean = np.geomspace(1, max(longest, 1), episodes)
    fresh = rng.random((steps, episodes)) < 1 / mean
    fresh[0] = True
    since = np.maximum.accumulate(np.where(fresh, np.arange(steps)[:, None], 0), axis=0)
    return np.take_along_axis(rng.random((steps, episodes)), since, axis=0)


def _drawn(p: FloatArray, allowed: BoolArray, draw: FloatArray, chance: float) -> IntArray:
    """Return a device for each episode by a number in 0..1, from its probabilities `[B, D]` mixed with uniform ones."""
    return by_probability((1 - chance) * p + chance * allowed / allowed.sum(), draw)


# Rewards


def rewards(worth: FloatArray, marks: IntArray, final: bool = False) -> FloatArray:
    """Return the reward of each step: by how much what is to be lowered fell, `[T, B]`.

    Args:
        worth: latency, or its logarithm, of what was visited, `[C, B]`.
        marks: after how many steps that was.
        final: give all of it at the last step.

    Source: Placeto, section 3.1: intermediate rewards, and the terminal one.
    """
    found = np.zeros((int(marks[-1]), worth.shape[1]))
    if final:
        found[-1] = worth[0] - worth[-1]
    else:
        found[marks[1:] - 1] = worth[:-1] - worth[1:]
    return found


def returns(reward: FloatArray, discount: float) -> FloatArray:
    """Return the discounted sum of the rewards `[T, B]` from each step on, `[T, B]`."""
    found = reward.copy()
    for step in range(len(found) - 2, -1, -1):
        found[step] += discount * found[step + 1]
    return found


def baseline(history: list[list[float]], new: FloatArray, window: int) -> FloatArray:
    """Return the mean return at each step over the last episodes, the new ones among them, `[T]`.

    Args:
        history: mean returns of earlier batches, `[T]` each; the new one is added, and the oldest dropped.
        new: returns of the present batch, `[T, B]`.
        window: batches that count.

    Source: Placeto, published code: a baseline for each step, averaged over the workers.
    """
    history.append(new.mean(axis=1).tolist())
    del history[:-window]
    return np.asarray(np.mean(history, axis=0))
