"""The policy that comes with ovplace: what it was made from, and that it is worth its place."""

import numpy as np

from ovplace.cost.machine_file import load
from ovplace.nn.policy_file import SHIPPED, PolicyFile
from ovplace.shipped import shipped
from ovplace.train.cases import Graph, cases
from ovplace.train.plan import find, plan


def test_it_is_small_and_made_by_the_training_that_comes_with_it():
    policy = PolicyFile.read(SHIPPED, "hsdag")
    assert shipped("models/policies/hsdag.npz").stat().st_size < 2e6
    assert policy.provenance["config"] == plan(find("default")).text


def test_it_places_held_out_models_and_an_unseen_machine_near_the_best_known():
    training = plan(find("default"))
    trainer = training.placer.module.Trainer(training.settings, 0, 0)
    PolicyFile.read(SHIPPED, "hsdag").into(trainer.network)
    graphs = [
        Graph(f"{name} {index}", name, {"index": index}) for name in training.config.families for index in (17, 28)
    ]
    machines = [load("i9-12900k+flex170"), load("core-ultra")]
    found = [case for graph in graphs for case in cases(graph, machines, (), 0, 0.0)]
    ratios = {case: case.over_best(trainer.place(case.problem)) for case in found}
    assert np.median(list(ratios.values())) <= 1.05
    assert np.median([ratio for case, ratio in ratios.items() if case.machine == "core-ultra"]) <= 1.10
