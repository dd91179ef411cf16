"""The placer `fc_grouper`."""

from __future__ import annotations

from ovplace.core.problem import Problem
from ovplace.learning.group_features import GroupFeatures
from ovplace.placers._base.policy_gradient import PolicyGradientPlacer
from ovplace.placers.fc_grouper.config import Config
from ovplace.placers.fc_grouper.feed_forward import FeedForward
from ovplace.placers.fc_grouper.policy import GroupedPolicy

NAME = "fc_grouper"


class Placer(PolicyGradientPlacer):
    """Measures placements drawn from the two networks, and updates both by REINFORCE."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the networks."""
        nodes, devices = GroupFeatures.of(problem), len(problem.devices)

        def head(n_features: int) -> FeedForward:
            return FeedForward(n_features, devices, config.hidden, config.tanh_constant)

        super().__init__(problem, lambda: GroupedPolicy(nodes, devices, config, head), config, NAME)
