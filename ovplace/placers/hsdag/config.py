"""Settings of the placer `hsdag`, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ovplace.learning.encoder import CONVOLUTIONS
from ovplace.placers.hsdag.network_settings import NetworkSettings
from ovplace.placers.hsdag.reward import REWARDS

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "nodes": "operations", "grouping": "parsed", "levels": 1, "state_update": True, "reward": "inverse",
        "baseline": False, "learning_rate": 1e-4, "dropout": 0.2, "steps": 20, "epochs": 4, "discount": 0.95,
        "clip": 0.0, "entropy": 0.0, "entropy_end": 0.0, "max_grad_norm": 0.0, "redraws": 0, "uniform": False,
        "warm_start": 0, "cost_features": False,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: HSDAG's Table 6; the discount is that of the published code."""


@dataclass(frozen=True)
class Config(NetworkSettings):
    """Settings beside those of the network; those of a preset apply where nothing else is said.

    Attributes:
        preset: `paper` is the published method on single operations, `tuned` what does better.
        nodes: what is encoded: `operations`, or the `groups` of the coarsener.
        grouping: `parsed` by learned scores (variant gpn); `drawn`, each node's edge at random by its score, so that
            groupings are tried out; parsed by `random` scores; or `fixed`: the groups of the coarsener as they are
            (variant coarse, with coarsener colocate).
        levels: how often the graph is parsed; 0 learns when to stop.
        state_update: embeddings of a step and of its groups are the state of the next; else one encoding a buffer.
        reward: `inverse` latency, or minus its `log`.
        baseline: learn from how much a reward exceeds the running mean, in running deviations, not from itself.
        sampling_dropout: dropout also while drawing, as in the published code; else the network draws as it is.
        learning_rate: of Adam.
        steps: placements between two updates: an episode.
        epochs: passes over these in an update.
        discount: the i-th step of an episode counts this to the power of i.
        elites: learn from this best part of the steps alone, all alike (cross-entropy method); 0 from all.
        clip: PPO's limit on the change of a step's probability; 0 for none.
        entropy: weight of the devices' entropy at the start.
        entropy_end: the same after `anneal` updates.
        anneal: updates from the one to the other.
        max_grad_norm: longer gradients are shortened to this; 0 for no limit.
        redraws: how often a placement that was measured before is drawn anew, with more and more chance in it; 0 asks
            for it again, which is answered from the store.
        uniform: measure each device alone first.
        warm_start: passes, at most, that imitate the optimum of the cost model before the first step, which is
            measured, too; 0 does without a cost model.
        cost_features: describe nodes also by their cost on each device, where there is a cost model, and by support.
        policy: file of a trained policy to go on from, or `shipped` for the one that comes with ovplace. What it
            chooses at once is measured instead of a warm start, and its settings of the network, `nodes`, `grouping`
            and `levels` take the place of these.
    """

    preset: str = "tuned"
    nodes: str = "groups"
    grouping: str = "drawn"
    levels: int = 0
    state_update: bool = False
    reward: str = "log"
    baseline: bool = True
    sampling_dropout: bool = False
    learning_rate: float = 3e-3
    steps: int = 10
    epochs: int = 4
    discount: float = 1.0
    elites: float = 0.0
    clip: float = 0.2
    entropy: float = 0.05
    entropy_end: float = 0.01
    anneal: int = 10
    max_grad_norm: float = 1.0
    redraws: int = 20
    uniform: bool = True
    warm_start: int = 100
    cost_features: bool = True
    dropout: float = 0.0
    policy: str = ""

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got '{getattr(self, name)}'")
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, int | float) and value < _LEAST.get(f.name, 0):
                raise ValueError(f"{f.name} must be at least {_LEAST.get(f.name, 0)}, got {value}")
        if max(self.dropout, self.parsing_dropout) >= 1 or max(self.discount, self.elites) > 1:
            raise ValueError("dropout and parsing_dropout must be below 1, discount and elites at most 1")
        if self.learning_rate == 0:
            raise ValueError("learning_rate must be positive, got 0")
        if not (self.described or self.cost_features or self.head == "devices"):
            raise ValueError("nodes need a description: described or cost_features must be true")

    @property
    def needs_costs(self) -> bool:
        """Whether the parts of the model have to be measured first."""
        return self.warm_start > 0 or self.head == "devices" or bool(self.policy)

    @property
    def kept(self) -> Mapping[str, object]:
        """What a policy file keeps: the settings of the network, and how it groups."""
        names = (*(f.name for f in fields(NetworkSettings)), "nodes", "grouping", "levels", "cost_features")
        return {name: getattr(self, name) for name in names}


_CHOICES = {
    "preset": tuple(PRESETS),
    "nodes": ("operations", "groups"),
    "grouping": ("parsed", "drawn", "random", "fixed"),
    "reward": REWARDS,
    "encoder": tuple(CONVOLUTIONS),
    "head": ("classes", "devices"),
}
_LEAST = dict.fromkeys(
    ("hidden", "input_layers", "graph_layers", "scorer_layers", "pooling_layers", "steps"), 1
) | dict.fromkeys(("epochs", "anneal", "head_hidden", "head_rounds"), 1)
