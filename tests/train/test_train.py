"""Whole trainings on tiny problems: what they leave, going on after Ctrl-C, and scores."""

import json
from dataclasses import replace
from math import inf

import numpy as np
import pytest
import torch

from ovplace.errors import ConfigError, InterruptedRunError, InUseError, StoreError, UsageError
from ovplace.graphs.op_graph import IntArray
from ovplace.learning.policy_file import PolicyFile
from ovplace.seeds import generator
from ovplace.session.events import silent
from ovplace.shipped import shipped
from ovplace.store.lock import locked
from ovplace.testing.graphs import layered, problem
from ovplace.train.evaluation import evaluate, summary_rows
from ovplace.train.run_training import TRAINED, run_training
from ovplace.train.training_config import TrainConfig
from ovplace.train.training_loop import TrainingSet, run_training_loop
from ovplace.train.training_plan import read_plan
from ovplace.train.training_problems import ModelRecipe, TrainingProblem, training_problems
from tests.train.small_network import PLACER

SMALL = f"""
[train]
families = ["recurrent"]
graphs = 2
held_out = 1
held_out_recipes = ["hyperbolic"]
machines = ["i9-12900k+flex170"]
held_out_machines = ["core-ultra"]
random_machines = 2
updates = 6
batch = 2
solver_s = 0.0
per_graph = 1
{PLACER}"""


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return read_plan(path)


def test_a_second_training_of_a_policy_ends_at_once_and_names_the_first(small, tmp_path):
    output = tmp_path / "policy.npz"
    with locked(tmp_path / "policy.npz.lock", "", ""), pytest.raises(InUseError, match="is being trained by process"):
        run_training(small, output, silent)
    assert not list(tmp_path.glob("policy*"))


def test_a_policy_that_would_be_a_folder_is_refused_before_anything_is_trained(small, tmp_path):
    events = []
    with pytest.raises(UsageError, match="is a folder; name a file"):
        run_training(small, tmp_path, events.append)
    assert events == []


def test_a_training_leaves_a_policy_and_says_what_it_is_worth(small, tmp_path):
    output = tmp_path / "out" / "policy.npz"
    told = []
    data = run_training(small, output, told.append)
    policy = PolicyFile.read(output, "hsdag")
    assert policy.provenance["graphs"] == ["recurrent 0"]
    assert policy.settings["head_rounds"] == 2
    names = [row["set"] for row in data["sets"] if not row["set"].endswith("mixed")]
    assert names == [TRAINED, "held-out recurrent", "held-out recipes", "held-out machine core-ultra"]
    assert all(row["zero_shot"]["median"] >= 1 for row in data["sets"])
    assert {path.name for path in output.parent.iterdir()} == {"policy.npz"}
    later = {event.phase: event.later_s for event in told}
    assert (later["problems"], later["evaluate"]) == (inf, 0.0)
    assert 0 < later["solving"] < later["train"] < inf
    json.dumps(data)


def stopping_at(phase, number):
    def listener(event):
        if (event.phase, event.done) == (phase, number):
            raise KeyboardInterrupt

    return listener


def test_a_training_stopped_several_times_makes_the_same_policy(small, tmp_path):
    run_training(small, tmp_path / "whole.npz", silent)
    stopped = tmp_path / "stopped.npz"
    for phase, number in (("train", 2), ("problems", 1), ("train", 4), ("solving", 1), ("evaluate", 1)):
        with pytest.raises(InterruptedRunError, match="goes on from"):
            run_training(small, stopped, stopping_at(phase, number))
    run_training(small, stopped, silent)
    assert stopped.read_bytes() == (tmp_path / "whole.npz").read_bytes()


@pytest.mark.parametrize("weights", ["cut", "of another network", None])
def test_weights_that_cannot_be_restored_are_named_by_their_file(weights, small, tmp_path):
    output, state = tmp_path / "policy.npz", tmp_path / "policy.npz.state"
    with pytest.raises(InterruptedRunError):
        run_training(small, output, stopping_at("train", 1))
    data = json.loads(state.read_text())
    other = small.placer.trainer(replace(small.settings, hidden=4), 0, 0).dump()
    data["weights"] = {"cut": data["weights"][:-40], "of another network": other}.get(weights)
    state.write_text(json.dumps(data))
    with pytest.raises(ConfigError, match=r"policy\.npz\.state' is damaged, or of another version; delete it"):
        run_training(small, output, silent)


def test_a_training_stopped_before_its_first_update_has_nothing_to_continue(small, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run_training(small, tmp_path / "policy.npz", stopping_at("problems", 1))
    assert not list(tmp_path.glob("policy.npz.state"))


class Fixed:
    """A trainer that counts, and always chooses one device."""

    def __init__(self, device=0):
        self.device, self.count, self.reinforced = device, 0, 0

    def update(self, problems, number):
        self.count += 1
        return 0.1

    def reinforce(self, problems, number):
        self.reinforced += 1
        return self.update(problems, number)

    def place(self, problem) -> IntArray:
        return np.full(problem.n_groups, self.device)

    def dump(self):
        return str(self.count)

    def restore(self, text):
        self.count = int(text)


def test_a_state_of_another_training_or_a_damaged_one_is_refused(small, tmp_path):
    state, of = tmp_path / "state", TrainingSet([], [problem(layered(5, seed=0))])
    run_training_loop(Fixed(), of, small, state, silent)
    again = Fixed()
    run_training_loop(again, of, small, state, silent)
    assert again.count == 6, "a finished training does nothing more"
    state.write_text(state.read_text().replace("train.updates", "train.update"))
    with pytest.raises(ConfigError, match="of another training"):
        run_training_loop(Fixed(), of, small, state, silent)
    state.write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        run_training_loop(Fixed(), of, small, state, silent)
    with pytest.raises(StoreError, match="cannot"):
        run_training_loop(Fixed(), of, small, state / "below", silent)


def test_a_state_from_before_a_machine_was_changed_is_refused(tmp_path):
    machine, text = tmp_path / "mine.toml", shipped("configs/machines/null.toml").read_text()
    config, state = tmp_path / "small.toml", tmp_path / "state"
    config.write_text(SMALL.replace('"core-ultra"', f'"{machine}"'))
    machine.write_text(text)
    of = TrainingSet([], [problem(layered(5, seed=0))])
    run_training_loop(Fixed(), of, read_plan(config), state, silent)
    machine.write_text(text.replace("drift = 0.03", "drift = 0.1"))
    with pytest.raises(ConfigError, match="or a machine has changed since; delete it"):
        run_training_loop(Fixed(), of, read_plan(config), state, silent)
    kept = json.loads(state.read_text())
    del kept["machines"]  # as earlier versions wrote it
    state.write_text(json.dumps(kept))
    run_training_loop(Fixed(), of, read_plan(config), state, silent)


def test_a_training_uses_one_thread_and_leaves_as_many_as_before(small, tmp_path):
    before, seen = torch.get_num_threads(), set()
    torch.set_num_threads(2)
    run_training(small, tmp_path / "policy.npz", lambda event: seen.add(torch.get_num_threads()))
    after = torch.get_num_threads()
    torch.set_num_threads(before)
    assert (seen, after) == ({1}, 2)


@pytest.mark.parametrize(("mixed", "plain", "drawn"), [(9, 9, 4), (9, 2, 4), (3, 9, 3), (0, 9, 0), (9, 0, 8)])
def test_a_share_of_a_batch_is_mixed_as_far_as_there_are_such(mixed, plain, drawn):
    several, one = ([problem(layered(3, seed=k)) for k in range(count)] for count in (mixed, plain))
    batch = TrainingSet(several, one).draw(8, 0.5, generator(0, "testing", "batch"))
    assert sum(any(of is p for p in several) for of in batch) == drawn
    assert len({id(of) for of in batch}) == len(batch) == min(8, drawn + plain)


def test_scores_are_latencies_over_the_best(tmp_path):
    of = problem(layered(6, seed=1))
    alone = [float(of.costs.group_ms[:, d].sum()) for d in range(2)]
    case = TrainingProblem("graph", "machine", of, best_ms=min(alone) / 2, single_ms=min(alone))
    config = TrainConfig(per_graph=3, updates=5)
    trainer = Fixed(device=0)
    scores = evaluate(trainer, {"held-out x": [case], TRAINED: [case]}, config, silent)
    assert scores["held-out x"][0].single == pytest.approx(2.0)
    assert scores["held-out x"][0].zero_shot == pytest.approx(case.over_best(np.zeros(6, dtype=np.int64)))
    assert trainer.count == 0, "training on a case alone is undone"
    assert trainer.reinforced == 3, "and does not imitate the solvers' answer for it"
    assert [row["set"] for row in summary_rows(scores)] == [
        "held-out x",
        "held-out x, mixed",
        TRAINED,
        f"{TRAINED}, mixed",
    ]


def test_a_model_that_a_machine_cannot_run_is_left_out():
    from ovplace.simulation.machine_file import load_machine

    machine = load_machine("null")
    refusing = replace(machine, devices=tuple(replace(d, unsupported=("LSTMSequence",)) for d in machine.devices))
    found = list(training_problems(ModelRecipe("lstm", "lstm"), [refusing, machine], (), 0, 0.0))
    assert [case.machine for case in found] == ["null"]
    assert found[0].best_ms <= found[0].single_ms


def test_the_exact_solver_never_makes_the_best_worse():
    from ovplace.simulation.machine_file import load_machine

    fast, exact = (
        next(training_problems(ModelRecipe("h", "hyperbolic"), [load_machine("core-ultra")], (), 0, s))
        for s in (0.0, 1.0)
    )
    assert exact.best_ms <= fast.best_ms * (1 + 1e-9)
