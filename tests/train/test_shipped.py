"""The policies that come with ovplace: what they were made from, and that they are worth their place."""

import numpy as np
import pytest

from ovplace.learning.policy_file import SHIPPED, PolicyFile
from ovplace.shipped import shipped
from ovplace.simulation.machine_file import load_machine
from ovplace.train.training_plan import find_training, read_plan
from ovplace.train.training_problems import ModelRecipe, training_problems

MADE_BY = {"hsdag": "default", "placeto": "placeto"}
"""Placer -> training that made its policy."""


@pytest.mark.parametrize("placer", MADE_BY)
def test_it_is_small_and_made_by_the_training_that_comes_with_it(placer):
    policy = PolicyFile.read(SHIPPED, placer)
    assert shipped(f"models/policies/{placer}.npz").stat().st_size < 2e6
    assert policy.provenance["config"] == read_plan(find_training(MADE_BY[placer])).text


@pytest.mark.parametrize("placer", MADE_BY)
def test_it_places_held_out_models_and_an_unseen_machine_near_the_best_known(placer):
    training = read_plan(find_training(MADE_BY[placer]))
    trainer = training.placer.trainer(training.settings, 0, 0)
    PolicyFile.read(SHIPPED, placer).into(trainer.network)
    models = [
        ModelRecipe(f"{name} {index}", name, {"index": index})
        for name in training.config.families
        for index in (17, 28)
    ]
    machines = [load_machine("i9-12900k+flex170"), load_machine("core-ultra")]
    found = [case for model in models for case in training_problems(model, machines, (), 0, 0.0)]
    ratios = {case: case.over_best(trainer.place(case.problem)) for case in found}
    assert np.median(list(ratios.values())) <= 1.05
    assert np.median([ratio for case, ratio in ratios.items() if case.machine == "core-ultra"]) <= 1.10
