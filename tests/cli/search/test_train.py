"""`ovplace train` and `ovplace optimize --policy` on the command line."""

import json

import pytest

from ovplace.cli.search.train import _show
from ovplace.learning.policy_file import PolicyFile
from tests.train.small_network import PLACER

CONFIG = f"""
[train]
recipes = ["lstm"]
held_out_recipes = ["hyperbolic"]
machines = ["i9-12900k+flex170"]
random_machines = 1
updates = 2
batch = 2
solver_s = 0.0
{PLACER}"""

QUICK = [
    "--machine",
    "i9-12900k+flex170",
    "--budget",
    "4",
    "--set",
    "comparison.rounds=2",
    "--set",
    "comparison.finalists=1",
]


def fails(done, code, *words):
    assert done.code == code, done.err
    lines = [line for line in done.err.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1 and done.err.splitlines()[-1] == lines[0], done.err
    for word in words:
        assert word in lines[0]


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(CONFIG)
    return path


@pytest.fixture
def policy(ovplace, config, tmp_path):
    """Return a policy file."""
    done = ovplace("train", config, "-o", tmp_path / "policy.npz", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["problems"] == 2
    return tmp_path / "policy.npz"


def test_it_prints_a_table(ovplace, config, tmp_path):
    done = ovplace("train", config, "-o", tmp_path / "policy.npz", "--set", "train.updates=1")
    assert done.code == 0, done.err
    assert "held-out recipes" in done.out and "policy.npz" in done.out
    assert "train 1/1" in done.err


def test_a_set_may_have_no_cases_or_be_missing_with_a_seed(ovplace, config, tmp_path, monkeypatch):
    def row(name, cases, *values):
        scores = dict(zip(("median", "p90", "worst"), values, strict=True))
        return {"set": name, "cases": cases, "zero_shot": scores, "per_graph": scores, "single": scores}

    sets = [row("some", 2, 1.5, None, None), row("none", 0, None, None, None)]
    seeds = [{"seed": 0, "sets": sets[1:]}, {"seed": 1, "sets": sets}]
    found = {"policy": "policy.npz", "bytes": 1, "seed": 1, "sets": sets, "seeds": seeds}
    monkeypatch.setattr("ovplace.train.seeds.train_seeds", lambda *_: found)
    done = ovplace("train", config, "-o", tmp_path / "policy.npz", "--seeds", 2)
    assert done.code == 0, done.err
    rows = [line.split() for line in done.out.splitlines() if line.startswith(("some", "none"))]
    assert rows == [
        ["some", "2", *["1.500", "inf", "inf"] * 3],
        ["none", "0", *["-"] * 9],
        ["none", "-", "-"],
        ["some", "-", "inf"],
    ]


@pytest.mark.slow  # tests/train/test_policy_search.py does it without the processes
def test_a_policy_starts_the_search_which_goes_on_without_the_file(ovplace, policy, tiny, tmp_path):
    command = ["optimize", tiny, "-o", tmp_path / "run", *QUICK, "--policy", policy, "--json"]
    started = ovplace(*command)
    assert started.code == 0, started.err
    text = (tmp_path / "run" / "config.toml").read_text()
    assert 'placer = "hsdag"' in text and "policy.npz" in text
    first = json.loads(started.out)
    assert first["search"]["trials"] > 0
    policy.unlink()
    done = ovplace(*command, "--budget", "6")
    assert done.code == 0, done.err
    assert json.loads(done.out)["search"]["trials"] > first["search"]["trials"]


def test_policies_that_cannot_be_used_are_named(ovplace, policy, tiny, tmp_path):
    run = ["optimize", tiny, "-o", tmp_path / "run", *QUICK]
    fails(ovplace(*run, "--policy", tmp_path / "nowhere.npz"), 2, "nowhere.npz", "check the path")
    (tmp_path / "text.npz").write_text("hello")
    fails(ovplace(*run, "--policy", tmp_path / "text.npz"), 2, "not a policy file")
    fails(ovplace(*run, "--policy", policy, "--placer", "random"), 2, "of the placer 'hsdag', not of 'random'")
    fails(ovplace(*run, "--policy", "shipped", "--placer", "random"), 2, "no trained policy of the placer 'random'")
    other = PolicyFile.read(policy)
    PolicyFile(other.placer, {**other.settings, "wheels": 4}, (), 0, other.weights, {}, other.vocabulary).write(policy)
    fails(ovplace(*run, "--policy", policy), 2, "settings that 'hsdag' does not know")
    assert not (tmp_path / "run" / "result.json").exists()


def test_trainings_that_cannot_be_done_are_named(ovplace, config, tmp_path):
    fails(ovplace("train", tmp_path / "nowhere.toml"), 2, "no training")
    fails(ovplace("train", config, "--set", "train.placer=random"), 2, "no policy to train")
    fails(ovplace("train", config, "--set", "placer.head=classes"), 2, "placer.head = 'devices'")
    fails(ovplace("train", config, "-o", config / "policy.npz"), 1, "cannot")
    several = ("train", config, "-o", tmp_path / "policy.npz", "--jobs", 2)
    for others in ((), ("--seeds", 2, "--cluster", "tls://nowhere:1")):
        fails(ovplace(*several, *others), 2, "--jobs needs --seeds without --cluster")


def test_the_table_of_seeds_names_the_one_that_is_kept(capsys):
    def row(name, p90):
        spread = {"median": 1.0, "p90": p90, "worst": None}
        return {"set": name, "cases": 2, **dict.fromkeys(("zero_shot", "per_graph", "single"), spread)}

    seeds = [
        {"seed": seed, "sets": [row("trained", p90), row("held-out", 2 * p90)]} for seed, p90 in ((4, 1.5), (5, 1.25))
    ]
    _show({"sets": seeds[1]["sets"], "seed": 5, "seeds": seeds, "policy": "p.npz", "bytes": 1_234_567})
    said = capsys.readouterr().out
    lines = [line.split() for line in said.splitlines()]
    assert ["trained", "2", *("1.000", "1.250", "inf") * 3] in lines
    assert "\nSeed 5 is kept. 90th percentile of the policy with each seed:\n" in said
    at = lines.index(["seed", "4", "seed", "5"])
    assert lines[at + 2 : at + 4] == [["trained", "1.500", "1.250"], ["held-out", "3.000", "2.500"]]
    assert said.endswith("\nThe policy is in p.npz, 1.23 MB.\n")
