"""Hierarchical planner: a network groups, a sequence-to-sequence network places the groups, learned together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ovplace.core.problem import Problem
from ovplace.learning.checkpoint import seeded
from ovplace.learning.nodes import Nodes
from ovplace.placers._base.policy_gradient import PolicyGradientPlacer, PolicyGradientSettings
from ovplace.placers.fc_grouper.network import GroupedPolicy, GrouperSettings
from ovplace.placers.seq2seq.network import Seq2Seq, Seq2SeqSettings
from ovplace.seeds import generator

SUMMARY = "hierarchical planner (Mirhoseini, Goldie et al., ICLR 2018): learns to group, then places groups by an LSTM"

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "groups": 0, "group_hidden": 64, "type_size": 20, "sharpness": 1.0, "noise": 0.5, "noise_updates": 750,
        "draws": 500, "hidden": 512, "attention": 512, "bidirectional": True, "aligned": False, "tanh_constant": 1.0,
        "temperature": 1.0, "samples": 1, "signal": "sqrt", "failing": 100.0, "baseline": "failure", "decay": 0.9,
        "late": 1000, "normalised": False, "learning_rate": 0.1, "rate_decay": 0.95, "rate_decay_every": 50,
        "rate_decay_after": 400, "epochs": 1, "entropy": 0.0, "entropy_end": 0.0, "max_grad_norm": 1.0,
        "uniform": False, "redraws": 0,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: `configs/placers/hierarchical.toml` says which are published."""


@dataclass(frozen=True)
class Config(Seq2SeqSettings, GrouperSettings, PolicyGradientSettings):
    """Settings beside those of networks and learning; those of a preset apply where nothing else is said.

    Of PPO's clipping there is none by default: the probability of hundreds of decisions taken together leaves its
    bounds after one step (`docs/explanation/systems/fc_grouper.md`).

    Attributes:
        preset: `paper` is the published method, `tuned` what finds good placements in few measurements.
    """

    preset: str = "tuned"
    clip: float = 0.0

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        for settings in (Seq2SeqSettings, GrouperSettings, PolicyGradientSettings):
            settings.__post_init__(self)
        if self.preset not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got '{self.preset}'")


class Placer(PolicyGradientPlacer):
    """Measures what the two networks draw, and teaches both.

    Source: Mirhoseini, Goldie et al., "A hierarchical model for device placement", ICLR 2018;
    `docs/explanation/systems/hierarchical.md` has the formulas, and what differs.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the networks."""
        seed = int(generator(problem.seed, "placer", "hierarchical", "weights").integers(2**31))
        nodes, devices = Nodes.of(problem), len(problem.devices)
        policy = seeded(lambda: GroupedPolicy(nodes, devices, config, lambda n: Seq2Seq(n, devices, config)), seed)
        super().__init__(problem, policy, config, "hierarchical")
