"""Rollout of Placeto's decision process: an existing placement is improved group by group.

State: the placement and the current group. Action: the device of the current group. Reward: the decrease of the
latency, which is evaluated elsewhere. Several episodes run in parallel.

Source: Placeto, arXiv 1906.08879, section 3.1. Encodings and evaluations for blocks of steps and coherent draws are not
published; the preset `paper` does without.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.sampling import sample_categorical
from ovplace.placers.placeto.network import Placeto
from ovplace.placers.placeto.observation import PlacetoGraph, label_free, pair_features, view_features


@dataclass(frozen=True)
class EpisodeSettings:
    """Settings of an episode.

    Attributes:
        sweeps: visits of each group.
        order: order of visits: `topological`, or one drawn at `random` for all episodes.
        encodings: encodings of the present placement per sweep; 0 for one at each step.
        evaluations: highest number of evaluations of the placement per sweep; 0 for one at each step.
        coherent: episodes draw consecutive groups by one random number, from single groups in the first episode to
            the whole sweep in the last: each step follows the policy, and regions move together.
    """

    sweeps: int = 1
    order: str = "topological"
    encodings: int = 2
    evaluations: int = 64
    coherent: bool = True


@dataclass(frozen=True, eq=False)
class Episodes:
    """B parallel episodes of T steps.

    Attributes:
        groups: group decided at each step, `[T]`.
        actions: device chosen, `[T, B]`.
        pairs: features of the group on each device, `[T, B, D, F]`.
        encoded: features at the beginning of each block of steps, `[B, V, N, F]` each.
        block: steps between two encodings.
        marks: number of steps before each recorded placement, including 0 and T, `[C]`.
        visited: the recorded placements, `[C, B, N]`.
    """

    groups: IntArray
    actions: IntArray
    pairs: Tensor
    encoded: tuple[Tensor, ...]
    block: int
    marks: IntArray
    visited: IntArray


def run_episodes(
    network: Placeto,
    graph: PlacetoGraph,
    start: IntArray,
    settings: EpisodeSettings,
    rng: np.random.Generator | None = None,
    exploration_rate: float = 0.0,
) -> Episodes:
    """Run episodes from given placements.

    Args:
        network: the policy.
        graph: the groups to place.
        start: initial placement of each episode, `[B, N]`.
        settings: settings of the episodes.
        rng: draws the devices; None takes the most probable one.
        exploration_rate: weight of the uniform distribution in the mixture with the policy's own, 0 to 1.
    """
    n, device_of = len(graph), start.copy()
    groups = np.tile(graph.order if graph.visits is None else graph.visits, settings.sweeps)
    block = max(1, -(-n // settings.encodings)) if settings.encodings else 1
    marks = _marks(len(groups), settings.evaluations * settings.sweeps)
    visits, encoded, pairs, visited = np.zeros(n, dtype=np.int64), [], [], []
    actions = np.empty((len(groups), len(start)), dtype=np.int64)
    draws = None if rng is None else _draws(len(groups), len(start), n if settings.coherent else 1, rng)
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
            actions[step] = (
                p.argmax(axis=1) if draws is None else _drawn(p, graph.allowed[group], draws[step], exploration_rate)
            )
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
    """Return the network's context of some groups, `[K, S, B, V, P]`.

    Args:
        network: the policy.
        graph: the groups to place.
        encoded: features at K encodings, `[K, B, V, N, F]`.
        groups: the groups to decide on each encoding, `[K, S]`.
    """
    sets = torch.from_numpy(_sets(network, graph, groups))
    found: Tensor = network.context(encoded, torch.from_numpy(graph.edges), torch.from_numpy(groups), sets)
    return found


def _sets(network: Placeto, graph: PlacetoGraph, groups: IntArray) -> NDArray[np.float32]:
    """Return the weights with which groups are pooled around each of some groups, `[3 or 1, K, S, N]`."""
    if network.settings.partition == "one":
        weight = 1 / len(graph) if network.settings.pooling == "mean" else 1.0
        return np.full((1, *groups.shape, len(graph)), weight, dtype=np.float32)
    return (graph.sets if network.settings.pooling == "mean" else graph.members)[:, groups]


def _pairs(network: Placeto, graph: PlacetoGraph, device_of: IntArray, group: int) -> Tensor:
    """Return the features of a group on each device given the other groups' present devices, `[B, D, F]`."""
    if network.by_class:
        return torch.zeros(len(device_of), graph.n_devices, 0)
    moved_ms = graph.moves.group_ms(device_of, group)[:, None]
    return torch.from_numpy(pair_features(graph, device_of, np.array([group]), moved_ms)[:, :, 0]).float()


def _draws(steps: int, episodes: int, longest: int, rng: np.random.Generator) -> FloatArray:
    """Return random numbers constant over runs of mean length 1 (first episode) to `longest` (last), `[T, B]`."""
    mean = np.geomspace(1, max(longest, 1), episodes)
    fresh = rng.random((steps, episodes)) < 1 / mean
    fresh[0] = True
    since = np.maximum.accumulate(np.where(fresh, np.arange(steps)[:, None], 0), axis=0)
    return np.take_along_axis(rng.random((steps, episodes)), since, axis=0)


def _drawn(p: FloatArray, allowed: BoolArray, draw: FloatArray, exploration_rate: float) -> IntArray:
    """Draw a device for each episode by a number from [0, 1), `[B]`."""
    return sample_categorical((1 - exploration_rate) * p + exploration_rate * allowed / allowed.sum(), draw)
