"""Trainings as TOML: what is meant, and what is refused."""

import pytest

from ovplace.errors import ConfigError, OvplaceError, UsageError
from ovplace.shipped import shipped_in
from ovplace.train.training_plan import find_training, read_plan

SMALL = """
[train]
families = ["recurrent"]
graphs = 4
held_out = 1
recipes = ["lstm"]
held_out_recipes = [{ recipe = "hyperbolic" }]
machines = ["null"]
held_out_machines = ["two-gpus"]

[placer]
head = "devices"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_families_are_split_and_recipes_added(file):
    found = read_plan(file)
    assert [graph.label for graph in found.models] == ["recurrent 0", "recurrent 1", "recurrent 2", "lstm"]
    assert {name: [graph.label for graph in of] for name, of in found.held_out.items()} == {
        "held-out recurrent": ["recurrent 3"],
        "held-out recipes": ["hyperbolic"],
    }
    assert [machine.name for machine in (*found.machines, *found.held_out_machines)] == ["null", "two-gpus"]
    assert found.settings.head == "devices"


def test_the_output_is_no_part_of_what_is_trained(file):
    assert read_plan(file, ["train.output=a.npz"]).text == read_plan(file, ["train.output=b.npz"]).text
    assert read_plan(file, ["train.seed=1"]).text != read_plan(file).text


def test_what_comes_with_ovplace_is_understood():
    for name in shipped_in("configs/train", ".toml"):
        found = read_plan(find_training(name))
        trained = {graph.label for graph in found.models}
        held_out = {graph.label for of in found.held_out.values() for graph in of}
        assert held_out and not trained & held_out
        assert not {m.name for m in found.machines} & {m.name for m in found.held_out_machines}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("train.families=cars", "unknown family 'cars'"),
        ("train.recipes=cars", "unknown model 'cars'"),
        ("train.machines=moon", "unknown simulated machine 'moon'"),
        ("train.held_out_machines=moon", "unknown simulated machine 'moon'"),
        ("train.features=colour", "unknown feature 'colour'"),
        ("train.placer=random", "no policy to train"),
        ("train.placer=nobody", "unknown placer 'nobody'"),
        ("train.updates=0", "updates must be at least 1"),
        ("train.held_out=9", "held_out must be at most graphs"),
        ("train.speed=9", "unknown key 'train.speed'"),
        ("train.seed=-1", "seed must be at least 0, got -1"),
        ("placer.head=feet", "head must be one of"),
        ("trian.seed=1", "unknown section 'trian'"),
    ],
)
def test_what_is_not_understood_is_named(file, change, words):
    with pytest.raises(OvplaceError, match=words) as said:
        read_plan(file, [change])
    assert "\n" not in str(said.value)


def test_a_training_on_nothing_is_refused(tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text("[train]\nmachines = ['null']\n")
    with pytest.raises(ConfigError, match="nothing to train on"):
        read_plan(path)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(UsageError, match=r"no training 'nowhere'.*default"):
        find_training("nowhere")
