"""Hierarchical planner: a grouper and a sequence-to-sequence placer of the groups, learned together.

Source: Mirhoseini, Goldie et al., "A hierarchical model for device placement", ICLR 2018. It consists of the grouper in
`placers/fc_grouper/policy.py` and the network in `placers/seq2seq/network.py`; rollout and updates are those of
`placers/_base/policy_gradient.py`. `docs/explanation/systems/hierarchical.md` has the formulas and all differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ovplace.core.problem import Problem
from ovplace.learning.group_features import GroupFeatures
from ovplace.learning.setting_checks import check_choices
from ovplace.placers._base.policy_gradient import PolicyGradientPlacer, PolicyGradientSettings
from ovplace.placers.fc_grouper.config import GrouperSettings
from ovplace.placers.fc_grouper.policy import GroupedPolicy
from ovplace.placers.seq2seq.config import Seq2SeqSettings
from ovplace.placers.seq2seq.network import Seq2Seq

NAME = "hierarchical"

SUMMARY = "hierarchical planner (Mirhoseini, Goldie et al., ICLR 2018): learns to group, then places groups by an LSTM"

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "groups": 0, "group_hidden": 64, "type_size": 20, "sharpness": 1.0, "noise": 0.5, "noise_updates": 750,
        "draws": 500, "hidden": 512, "attention": 512, "bidirectional": True, "aligned": False, "tanh_constant": 1.0,
        "temperature": 1.0, "samples": 1, "signal": "sqrt", "failure_ratio": 100.0, "baseline": "failure", "decay": 0.9,
        "drop_failures_after": 1000, "normalised": False, "learning_rate": 0.1, "rate_decay": 0.95,
        "rate_decay_every": 50, "rate_decay_after": 400, "epochs": 1, "entropy": 0.0, "entropy_end": 0.0,
        "max_grad_norm": 1.0, "uniform": False, "redraws": 0,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: `configs/placers/hierarchical.toml` says which are published."""


@dataclass(frozen=True)
class Config(Seq2SeqSettings, GrouperSettings, PolicyGradientSettings):
    """Settings in addition to those of the networks, the search and learning; a preset changes the defaults.

    PPO's clipping is off by default: the joint probability of hundreds of decisions exceeds its bounds after one step
    (`docs/explanation/systems/fc_grouper.md`).

    Attributes:
        preset: `paper` is the published method; `tuned` finds good placements in few measurements.
    """

    preset: str = "tuned"
    clip: float = 0.0

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        for settings in (Seq2SeqSettings, GrouperSettings, PolicyGradientSettings):
            settings.__post_init__(self)
        check_choices(self, {"preset": PRESETS})


class Placer(PolicyGradientPlacer):
    """Measures placements drawn from the two networks, and updates both by REINFORCE."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the networks."""
        nodes, devices = GroupFeatures.of(problem), len(problem.devices)

        def head(n_features: int) -> Seq2Seq:
            return Seq2Seq(n_features, devices, config)

        super().__init__(problem, lambda: GroupedPolicy(nodes, devices, config, head), config, NAME)
