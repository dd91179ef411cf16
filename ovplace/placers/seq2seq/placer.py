"""The placer `seq2seq`."""

from __future__ import annotations

from ovplace.core.problem import Problem
from ovplace.placers._base.policy_gradient import PolicyGradientPlacer
from ovplace.placers.seq2seq.config import Config
from ovplace.placers.seq2seq.policy import Seq2SeqPolicy

NAME = "seq2seq"


class Placer(PolicyGradientPlacer):
    """Measures placements drawn from the policy, and updates it by REINFORCE."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the policy."""
        super().__init__(problem, lambda: Seq2SeqPolicy(problem, config), config, NAME)
