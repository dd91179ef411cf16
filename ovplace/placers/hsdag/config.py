"""Settings of the placer `hsdag`, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from ovplace.learning.setting_checks import check_choices, check_numbers
from ovplace.placers.hsdag.network.encoder import CONVOLUTIONS
from ovplace.placers.hsdag.network.policy_graph import NODES
from ovplace.placers.hsdag.network.settings import NetworkSettings
from ovplace.placers.hsdag.rewards import RETURNS, REWARDS

_PAPER: Mapping[str, object] = {
    "nodes": "operations", "grouping": "parsed", "levels": 1, "state_update": True, "reward": "inverse",
    "returns": "step", "baseline": False, "learning_rate": 1e-4, "dropout": 0.2, "steps": 20, "episodes": 100,
    "epochs": 4, "discount": 0.95, "clip": 0.0, "entropy": 0.0, "entropy_end": 0.0, "max_grad_norm": 0.0, "redraws": 0,
    "uniform": False, "warm_start": 0, "cost_features": False, "output_layers": 2, "activation_final": True,
    "mlp_norms": True, "pooled_edges": "inside", "pooled_input": "input", "encoded_levels": True,
}  # fmt: skip

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": _PAPER,
    "paper-log": {**_PAPER, "reward": "log_cpu"},
    "paper-code": {**_PAPER, "returns": "episode", "epochs": 1},
}
"""Values that differ from the defaults. `paper`: HSDAG's Table 6, and what only the published code says: the discount
and the layers' details. `paper-log`: the reward that stands commented out in that code. `paper-code`: its update."""


@dataclass(frozen=True)
class Config(NetworkSettings):
    """Settings in addition to those of the network; a preset changes the defaults.

    Attributes:
        preset: `paper` is the published method on single operations, `paper-log` and `paper-code` are variants of it
            from the published code; `tuned` performs better here.
        nodes: nodes of the encoded graph: `operations`, HSDAG's `colocated` sets of them, or the `groups` of the
            coarsener.
        grouping: `parsed` by learned scores (variant gpn); `drawn`: an edge per node is drawn at random by its score;
            parsed by `random` scores; or `fixed`: the coarsener's groups.
        levels: number of levels of the parse; 0 learns when to stop.
        state_update: the embeddings of a step are the state of the next; otherwise steps have no state.
        reward: `inverse` latency, minus its `log`, or `log_cpu`, the logarithm of the CPU's latency over it, for which
            the CPU alone is measured first, or the last device where there is no CPU; if it fails, the fastest single
            device takes its place.
        returns: each `step` is learned from its own discounted reward, or from the sum over the `episode`.
        baseline: learn from the difference to the running mean reward, in running standard deviations.
        sampling_dropout: dropout is active while drawing, as in the published code.
        learning_rate: learning rate of Adam; 0 learns nothing.
        steps: placements between two updates (an episode), those measured before included.
        episodes: episodes after which the search ends; 0 leaves that to the budget.
        epochs: passes over the steps of an episode in an update.
        discount: discount factor; the i-th step of an episode has the weight `discount` to the power of i.
        top_fraction: learn from this fastest fraction of the steps only, with equal rewards and never from failures
            (cross-entropy method); 0 for all steps. Not with `returns` of the episode.
        clip: PPO's limit on the relative change of a step's probability; 0 for none.
        entropy: initial weight of the entropy of devices.
        entropy_end: weight of the entropy of devices after `anneal` updates.
        anneal: updates over which the entropy weight changes.
        max_grad_norm: gradients with a larger norm are scaled to this one; 0 for no limit.
        redraws: attempts to replace a placement measured before, with an increasing exploration rate; 0 proposes it
            again, which is answered from the store.
        uniform: measure each single device first.
        warm_start: highest number of gradient steps that imitate the cost model's best placement before the search;
            that placement is measured as well. 0 needs no cost model.
        cost_features: describe nodes by support and, if known, by their cost on each device.
        policy: file of a trained policy to start from, or `shipped` for the included one. Its zero-shot placement is
            measured instead of a warm start; its settings of the network, `nodes`, `grouping`, `levels` and
            `cost_features` replace these.
    """

    preset: str = "tuned"
    nodes: str = "groups"
    grouping: str = "drawn"
    levels: int = 0
    state_update: bool = False
    reward: str = "log"
    returns: str = "step"
    baseline: bool = True
    sampling_dropout: bool = False
    learning_rate: float = 3e-3
    steps: int = 10
    episodes: int = 0
    epochs: int = 4
    discount: float = 1.0
    top_fraction: float = 0.0
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
        check_choices(self, _CHOICES)
        check_numbers(self, _AT_LEAST_ONE)
        if max(self.dropout, self.parsing_dropout) >= 1 or max(self.discount, self.top_fraction) > 1:
            raise ValueError(
                "dropout and parsing_dropout must be below 1, discount and top_fraction at most 1, "
                f"got {self.dropout}, {self.parsing_dropout}, {self.discount} and {self.top_fraction}"
            )
        if self.top_fraction and self.returns == "episode":
            raise ValueError(
                f"top_fraction = {self.top_fraction} learns from some steps of an episode and returns = 'episode' from "
                "all alike; leave one of them out"
            )
        if not (self.described or self.cost_features or self.head == "devices"):
            raise ValueError("nodes need a description: described or cost_features must be true")

    @property
    def policy_settings(self) -> Mapping[str, object]:
        """Settings stored in a policy file: those of the network, and how nodes are formed and grouped."""
        names = (*(f.name for f in fields(NetworkSettings)), "nodes", "grouping", "levels", "cost_features")
        return {name: getattr(self, name) for name in names}


_CHOICES = {
    "preset": tuple(PRESETS),
    "nodes": tuple(NODES),
    "grouping": ("parsed", "drawn", "random", "fixed"),
    "reward": REWARDS,
    "returns": RETURNS,
    "pooled_edges": ("kept", "inside"),
    "pooled_input": ("encoded", "input"),
    "encoder": tuple(CONVOLUTIONS),
    "head": ("classes", "devices"),
}
_AT_LEAST_ONE = (
    "hidden", "input_layers", "graph_layers", "scorer_layers", "pooling_layers", "steps", "epochs", "anneal",
    "head_hidden", "head_rounds",
)  # fmt: skip
