"""A search that starts from a policy file: what it asks first, and that it goes on without the file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.errors import UsageError
from ovplace.learning.policy_file import PolicyFile
from ovplace.plugins import registry
from ovplace.testing.contracts.placer import all_fail
from ovplace.testing.graphs import chain, layered, problem, trial_of
from tests.asked_hashes import asked_hashes

HSDAG = registry.load("placers", "hsdag")
SMALL = {"head": "devices", "described": False, "hidden": 8, "head_hidden": 8, "head_rounds": 2, "grouping": "fixed"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    trainer = HSDAG.trainer(HSDAG.config(SMALL), 0, 0)
    for number in range(5):
        trainer.update([problem(layered(12, seed=1)), problem(layered(9, seed=2), 3)], number)
    path = tmp_path_factory.mktemp("policy") / "policy.npz"
    PolicyFile.from_network(trainer.network, "hsdag", trainer.settings, (), 0, {}).write(path)
    return path


def built(of, path, **settings):
    return HSDAG.factory(of, HSDAG.config({"policy": str(path), "steps": 4, **settings}))


def refusing(n_devices):
    supported = np.ones((12, n_devices), dtype=bool)
    supported[::2, 1:] = False
    return supported


CASES = {
    "other devices": lambda: problem(layered(20, seed=3), 5),
    "one device": lambda: problem(chain(("Add", "Sin")), 1),
    "one group": lambda: problem(chain(("Add", "Sin")), 2, partition=Partition(np.zeros(2, dtype=np.int64))),
    "unsupported": lambda: problem(layered(12, seed=4), 3, supported=refusing(3)),
    "circle": lambda: problem(chain(("Add", "Sin", "Relu", "MatMul")), 2, partition=Partition(np.array([0, 1, 0, 1]))),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_policy_says_at_once_follows_the_uniform_placements(case, file):
    of = CASES[case]()
    trainer = HSDAG.trainer(HSDAG.config(SMALL), 0, 1)
    PolicyFile.read(file).into(trainer.network)
    placer, count = built(of, file), len(of.devices)
    first = [placer.ask(1)[0] for _ in range(count + 1)]
    assert [p.hash for p in first[:count]] == [of.lift(of.uniform(d)).hash for d in range(count)]
    assert first[-1].hash == of.lift(trainer.place(of)).hash
    assert built(of, file, uniform=False).ask(1)[0].hash == first[-1].hash


@pytest.mark.parametrize("rounds", [0, 1, 3, 9])
def test_it_goes_on_as_if_never_stopped_without_the_file(rounds, file, tmp_path):
    copy = tmp_path / "copy.npz"
    copy.write_bytes(file.read_bytes())
    of = problem(layered(12, seed=5), 3)
    one = built(of, copy)
    asked_hashes(one, rounds)
    state = json.dumps(one.state())
    rest = asked_hashes(one, 10)
    copy.unlink()
    other = built(of, copy)
    other.restore(json.loads(state))
    assert asked_hashes(other, 10) == rest


def test_it_goes_on_between_ask_and_tell(file):
    of = problem(layered(12, seed=6))
    one, other = (built(of, file) for _ in range(2))
    asked_hashes(one, 6)
    asked = one.ask(1)
    other.restore(json.loads(json.dumps(one.state())))
    for placer in (one, other):
        placer.tell([trial_of(0, placement, 1.5) for placement in asked])
    assert asked_hashes(one, 8) == asked_hashes(other, 8)


@pytest.mark.parametrize("case", CASES)
def test_failures_are_survived(case, file):
    assert len(asked_hashes(built(CASES[case](), file), 12, answer=all_fail)) == 12


def test_the_network_is_that_of_the_file_and_the_search_is_the_users(file):
    placer = built(problem(layered(12, seed=7)), file, hidden=64, head="classes", steps=3, warm_start=0)
    assert HSDAG.factory.needs_costs(HSDAG.config({"policy": str(file), "warm_start": 0}))
    asked_hashes(placer, 7)
    assert placer.info["updates"] == 1
    assert json.loads(json.dumps(placer.state()))["policy"]["settings"]["hidden"] == 8


def test_a_policy_trained_without_features_places_what_has_some(tmp_path):
    config, path = HSDAG.config(SMALL | {"described": True}), tmp_path / "policy.npz"
    bare = replace(problem(layered(12, seed=9)), features=np.zeros((12, 0)))
    trainer = HSDAG.trainer(config, 0, 0)
    trainer.update([bare], 0)
    PolicyFile.from_network(trainer.network, "hsdag", trainer.settings, (), 0, {}).write(path)
    of = replace(bare, features=np.ones((12, 7)))
    first = built(of, path, uniform=False).ask(1)[0]
    assert first.hash == built(bare, path, uniform=False).ask(1)[0].hash


def test_a_missing_file_is_said_when_it_is_needed(tmp_path):
    placer = built(problem(layered(12, seed=8)), tmp_path / "nowhere.npz")
    with pytest.raises(UsageError, match=r"nowhere\.npz"):
        placer.ask(1)
