"""The trained policies that come with ovplace."""

from __future__ import annotations

from ovplace.learning.policy_file import SHIPPED, PolicyFile
from ovplace.plugins.protocols import Trainer
from ovplace.train.training_plan import TrainingPlan, find_training, read_plan

PLANS = {"hsdag": "default", "placeto": "placeto"}
"""The configurations that they were trained with, by placer."""


def shipped_plan(placer: str) -> TrainingPlan:
    """Return the training of a placer's policy."""
    return read_plan(find_training(PLANS[placer]))


def new_trainer(placer: str) -> Trainer:
    """Return a trainer of a placer's policy, which takes no node features, that has learned nothing."""
    plan = shipped_plan(placer)
    assert plan.placer.trainer is not None, "read_plan checks it"
    return plan.placer.trainer(plan.settings, 0, plan.config.seed)


def shipped_trainer(placer: str) -> Trainer:
    """Return the same with the weights of the policy that comes with ovplace."""
    trainer = new_trainer(placer)
    PolicyFile.read(SHIPPED, placer).into(trainer.network)
    return trainer
