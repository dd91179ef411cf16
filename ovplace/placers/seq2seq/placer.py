"""The placer `seq2seq`."""

from __future__ import annotations

from ovplace.core.problem import Problem
from ovplace.learning.initialise import seeded
from ovplace.placers._base.policy_gradient import PolicyGradientPlacer
from ovplace.placers.seq2seq.config import Config
from ovplace.placers.seq2seq.policy import Seq2SeqPolicy
from ovplace.seeds import generator

NAME = "seq2seq"


class Placer(PolicyGradientPlacer):
    """Measures placements drawn from the policy, and updates it by REINFORCE."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the policy."""
        seed = int(generator(problem.seed, "placer", NAME, "weights").integers(2**31))
        super().__init__(problem, seeded(lambda: Seq2SeqPolicy(problem, config), seed), config, NAME)
