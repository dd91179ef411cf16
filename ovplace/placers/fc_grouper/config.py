"""Settings of the placer `fc_grouper`, and its presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from ovplace.learning.setting_checks import check_choices
from ovplace.placers._base.policy_gradient import PolicyGradientSettings

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "groups": 0, "group_hidden": 64, "type_size": 20, "sharpness": 1.0, "hidden": 64, "tanh_constant": 1.0,
        "samples": 10, "signal": "sqrt", "failure_ratio": 100.0, "baseline": "failure", "decay": 0.9,
        "drop_failures_after": 100, "normalised": False, "learning_rate": 1e-2, "epochs": 1, "entropy": 0.0,
        "entropy_end": 0.0, "max_grad_norm": 1.0, "uniform": False, "redraws": 0,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: the method of the abstract; no value of it is published."""


@dataclass(frozen=True)
class GrouperSettings:
    """Settings of the grouper, and of the draws of groupings and placements.

    Attributes:
        groups: number of groups, at most that of the nodes; 0 for 20 per device, at most 256.
        group_hidden: units of the grouper's hidden layer.
        type_size: size of the embedding of an operation type.
        sharpness: factor on the grouper's logits; with a high one, similar nodes are initially in the same group.
        noise: standard deviation of the noise added to the logits of groups and devices in the first updates, in units
            of the logits' root mean square.
        noise_updates: number of first updates with this noise.
        draws: updates after which the most probable actions are taken instead of random ones; 0 for never.
    """

    groups: int = 8
    group_hidden: int = 64
    type_size: int = 20
    sharpness: float = 10.0
    noise: float = 0.0
    noise_updates: int = 0
    draws: int = 0

    def __post_init__(self) -> None:
        """Check ranges."""
        for name in ("groups", "noise", "noise_updates", "draws"):
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")
        for name in ("group_hidden", "type_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.sharpness < inf:
            raise ValueError(f"sharpness must be positive and finite, got {self.sharpness}")


@dataclass(frozen=True)
class Config(GrouperSettings, PolicyGradientSettings):
    """Settings in addition to those of the grouper, the search and learning; a preset changes the defaults.

    PPO's clipping is off by default: the joint probability of hundreds of decisions exceeds its bounds after one step
    (`docs/explanation/systems/fc_grouper.md`).

    Attributes:
        preset: `paper` is the published method with its gaps filled; `tuned` finds good placements in few measurements.
        hidden: units of each of the placer's two hidden layers.
        tanh_constant: the placer's logits are bounded to plus or minus this by tanh; 0 for no bound.
    """

    preset: str = "tuned"
    clip: float = 0.0
    hidden: int = 64
    tanh_constant: float = 0.0

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        GrouperSettings.__post_init__(self)
        PolicyGradientSettings.__post_init__(self)
        check_choices(self, {"preset": PRESETS})
        if self.hidden < 1 or not 0 <= self.tanh_constant < inf:
            raise ValueError(
                "hidden must be at least 1 and tanh_constant at least 0 and finite, "
                f"got {self.hidden} and {self.tanh_constant}"
            )
