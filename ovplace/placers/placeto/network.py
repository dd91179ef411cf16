"""Placeto's network: message passing in both directions, pooling around the current group, and a device head.

Source: Placeto, arXiv 1906.08879, section 3.2. The head `devices` is not published.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ovplace.learning.layers import mlp
from ovplace.placers.placeto.observation import N_LABEL_FREE, N_PAIR, N_VIEW

HEADS = ("classes", "devices")


@dataclass(frozen=True)
class PlacetoSettings:
    """Settings that the shape and the cost of the network depend on.

    Attributes:
        head: `classes`: one output per device, as published; `devices`: the same network scores each device from
            features relative to it, so that it works for any machine.
        hidden: size of the embeddings of each direction; 0 for as many as a group has features, as published.
        rounds: rounds of message passing; 0 leaves each group its own embedding.
        messages: embeddings are formed by message passing; otherwise the features themselves are pooled.
        embedding_layers: linear layers from features to initial embeddings.
        activation_final: the networks of messages and pooling end in a ReLU, as published.
        masked: a group without neighbours in a direction keeps its initial embedding; otherwise it also receives g(0).
        pooling: how the groups of a set are aggregated: their `mean`, or their `sum`, as published.
        partition: sets that are pooled: `three`, the ancestors, the descendants and the groups parallel to the current
            one, next to its own embedding; or `one` of all groups, without that embedding.
    """

    head: str = "devices"
    hidden: int = 32
    rounds: int = 4
    messages: bool = True
    embedding_layers: int = 2
    activation_final: bool = False
    masked: bool = False
    pooling: str = "mean"
    partition: str = "three"

    def features(self, n_devices: int) -> int:
        """Return the number of features of a group, for the head `classes` on a number of devices."""
        return N_LABEL_FREE + n_devices if self.head == "classes" else N_VIEW

    def width(self, n_devices: int) -> int:
        """Return the size of the embeddings of each direction, for a number of devices."""
        return self.hidden or self.features(n_devices)


def _two_layers(width: int, settings: PlacetoSettings) -> nn.Sequential:
    end = [nn.ReLU(inplace=True)] if settings.activation_final else []
    return nn.Sequential(*mlp(width, width, width, 2), *end)


class Messages(nn.Module):
    """Message passing h <- g(sum of f(h) over the neighbours) + h0 for a number of rounds.

    Source: Placeto, arXiv 1906.08879, section 3.2, "message passing"; f and g are two linear layers with ReLU.
    """

    def __init__(self, width: int, settings: PlacetoSettings) -> None:
        """Build f and g.

        Args:
            width: size of embeddings H.
            settings: number of rounds, and the layers' details.
        """
        super().__init__()
        self.f, self.g = _two_layers(width, settings), _two_layers(width, settings)
        self.rounds, self.masked = settings.rounds, settings.masked

    def forward(self, h0: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Return embeddings of M copies of a graph, `[N, M, H]`.

        Args:
            h0: initial embeddings, `[N, M, H]`.
            source: node that each edge starts at, `[Q]`.
            target: node that receives the message, `[Q]`.
        """
        h, hears = h0, torch.bincount(target, minlength=len(h0)) > 0
        for _ in range(self.rounds):
            heard = self.g(torch.zeros_like(h).index_add(0, target, self.f(h)[source]))
            h = (heard * hears[:, None, None] if self.masked else heard) + h0
        return h


class Pooling(nn.Module):
    """POST(mean or sum of PRE(h)) over a set of groups.

    Source: Placeto, section 3.2, "pooling summaries": three set aggregators, for ancestors, descendants and groups
    parallel to the current one; the published code sums.
    """

    def __init__(self, width: int, settings: PlacetoSettings) -> None:
        """Build PRE and POST.

        Args:
            width: size of embeddings.
            settings: the layers' details.
        """
        super().__init__()
        self.before, self.after = _two_layers(width, settings), _two_layers(width, settings)

    def forward(self, h: Tensor, members: Tensor) -> Tensor:
        """Return summaries of sets of groups, `[K, S, M, E]`.

        Args:
            h: embeddings, `[K, N, M, E]`.
            members: weights of the groups in S sets, `[K, S, N]`.
        """
        pooled = torch.matmul(members, self.before(h).flatten(2))
        out: Tensor = self.after(pooled.reshape(*pooled.shape[:2], *h.shape[2:]))
        return out


class Placeto(nn.Module):
    """Network from raw features to device probabilities for the next groups.

    It is used in two steps: `context` encodes the present placement, `log_p` decides on one group or several with that
    context. Between two encodings of a sweep only the pair features of `log_p` are up to date.
    """

    def __init__(self, settings: PlacetoSettings, n_devices: int) -> None:
        """Build the network; weights are drawn from torch's global generator.

        Args:
            settings: sizes and kind of head.
            n_devices: number of devices D, used by the head `classes` only.
        """
        super().__init__()
        self.settings, self.by_class = settings, settings.head == "classes"
        features, width = settings.features(n_devices), settings.width(n_devices)
        pooled = 2 * width if settings.messages else features
        if settings.messages:
            self.embed = mlp(features, width, width, settings.embedding_layers)
            self.along, self.against = Messages(width, settings), Messages(width, settings)
        sets = 3 if settings.partition == "three" else 1
        self.pools = nn.ModuleList(Pooling(pooled, settings) for _ in range(sets))
        joined = pooled * (4 if settings.partition == "three" else 1)
        self.head = _Classes(joined, n_devices) if self.by_class else _Devices(joined, 2 * width)

    def context(self, x: Tensor, edges: Tensor, own: Tensor, sets: Tensor) -> Tensor:
        """Encode placements and summarise them around S groups in each of K encodings.

        Args:
            x: raw features of B placements from V views (1, or one per device), `[K, B, V, N, F]`.
            edges: directed edges, `[2, Q]`.
            own: the groups to decide, `[K, S]`.
            sets: weights of the groups in each set to pool for them, `[3 or 1, K, S, N]`.

        Returns:
            Context of the groups, `[K, S, B, V, P]`.
        """
        count, copies, views = x.shape[:3]
        h = self._embedded(x.permute(3, 0, 1, 2, 4).flatten(1, 3), edges)
        h = h.reshape(len(h), count, copies * views, -1).transpose(0, 1)  # [K, N, B V, E]
        parts = [h[torch.arange(count)[:, None], own]] if self.settings.partition == "three" else []
        parts += [pool(h, members) for pool, members in zip(self.pools, sets, strict=True)]
        joined = torch.cat(parts, dim=3)
        found: Tensor = self.head.context(joined.reshape(*joined.shape[:2], copies, views, -1))
        return found

    def _embedded(self, x: Tensor, edges: Tensor) -> Tensor:
        """Return the embeddings of both directions, or the features themselves, `[N, M, E]`."""
        if not self.settings.messages:
            return x
        h0 = self.embed(x)
        return torch.cat([self.along(h0, edges[0], edges[1]), self.against(h0, edges[1], edges[0])], dim=2)

    def log_p(self, context: Tensor, pairs: Tensor, allowed: Tensor) -> Tensor:
        """Return the log probability of each device, `[..., D]`.

        Args:
            context: context of the groups to decide, `[..., V, P]`.
            pairs: present features of these groups on each device, `[..., D, F]`; not used by `classes`.
            allowed: which device can run them, `[..., D]`.
        """
        logits = self.head(context, pairs).masked_fill(~allowed, float("-inf"))
        return torch.log_softmax(logits, dim=-1)


class _Classes(nn.Module):
    """Classifier with hidden layers of twice and once the width of its input.

    Source: Placeto, the published code.
    """

    def __init__(self, n_in: int, n_devices: int) -> None:
        super().__init__()
        self.classify = nn.Sequential(
            nn.Linear(n_in, 2 * n_in), nn.ReLU(), nn.Linear(2 * n_in, n_in), nn.ReLU(), nn.Linear(n_in, n_devices)
        )

    def context(self, pooled: Tensor) -> Tensor:
        return pooled

    def forward(self, context: Tensor, pairs: Tensor) -> Tensor:
        logits: Tensor = self.classify(context).squeeze(-2)
        return logits


class _Devices(nn.Module):
    """Score of each device from its context, the mean context of all devices, and its present pair features."""

    def __init__(self, n_in: int, width: int) -> None:
        super().__init__()
        self.narrow = nn.Sequential(nn.Linear(n_in, width), nn.ReLU(), nn.LayerNorm(width))
        self.score = mlp(2 * width + N_PAIR, width, 1, 3)

    def context(self, pooled: Tensor) -> Tensor:
        seen = self.narrow(pooled)
        return torch.cat([seen, seen.mean(dim=-2, keepdim=True).expand_as(seen)], dim=-1)

    def forward(self, context: Tensor, pairs: Tensor) -> Tensor:
        scores: Tensor = self.score(torch.cat([context, pairs], dim=-1)).squeeze(-1)
        return scores
