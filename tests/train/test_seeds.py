"""Trainings with several seeds: what is kept, what goes on, and which policy is chosen."""

import json
import threading
from dataclasses import replace

import pytest

from ovplace.errors import BackendError, ConfigError, InterruptedRunError, UsageError
from ovplace.learning.policy_file import PolicyFile
from ovplace.session.events import silent
from ovplace.train.run_training import TRAINED
from ovplace.train.seeds import train_seeds
from ovplace.train.training_plan import find_training, plan_of, read_plan
from ovplace.train.training_sites import TrainsHere
from ovplace.train.worker_training import WorkerTraining, check_names
from tests.train.small_network import PLACER

SMALL = f"""
[train]
recipes = ["lstm"]
held_out_recipes = ["hyperbolic"]
machines = ["i9-12900k+flex170"]
updates = 3
batch = 2
solver_s = 0.0
{PLACER}"""


@pytest.fixture
def plans(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return [read_plan(path, [f"train.seed={seed}"]) for seed in (4, 5, 6)]


class Scores:
    """Stands for a site: trains nothing, and finds these 90th percentiles by seed."""

    jobs = 1

    def __init__(self, **p90):
        self.p90 = {int(seed[1:]): value for seed, value in p90.items()}
        self.trained = []

    def train(self, plan, output):
        seed = plan.config.seed
        self.trained.append(seed)
        if self.p90[seed] == "lost":
            raise BackendError("lost")
        output.parent.mkdir(exist_ok=True)
        output.write_bytes(b"policy of %d" % seed)
        row = {"set": TRAINED, "cases": 1, "zero_shot": {"median": 1.0, "p90": self.p90[seed], "worst": None}}
        return {"policy": "elsewhere", "sets": [row]}

    def stop(self):
        pass


@pytest.mark.parametrize("name", ["default", "placeto"])
def test_the_text_of_a_plan_is_the_plan(name):
    plan = read_plan(find_training(name), ["train.updates=7"])
    again = plan_of(plan.text)
    assert (again.text, again.config.updates, again.settings) == (plan.text, 7, plan.settings)
    assert (again.models, again.held_out) == (plan.models, plan.held_out)
    with pytest.raises(ConfigError, match="no TOML"):
        plan_of("train.updates =")


def test_the_seed_that_places_the_training_graphs_best_is_kept(plans, tmp_path):
    site, output, said = Scores(s4=1.2, s5=1.1, s6=None), tmp_path / "policy.npz", []
    data = train_seeds(plans, output, site, said.append)
    assert output.read_bytes() == b"policy of 5"
    assert (data["seed"], data["policy"]) == (5, str(output))
    assert [of["seed"] for of in data["seeds"]] == [4, 5, 6]
    assert [event.done for event in said] == [0, 1, 2, 3]
    assert "seed 5: 1.000 of the best known latency" in said[2].text
    again = Scores()
    assert train_seeds(plans, output, again, silent) == data
    assert again.trained == []


def test_a_seed_that_failed_is_trained_again_and_the_others_are_not(plans, tmp_path):
    output = tmp_path / "policy.npz"
    with pytest.raises(BackendError, match="lost"):
        train_seeds(plans, output, Scores(s4=1.2, s5="lost", s6=1.3), silent)
    assert not output.exists()
    site = Scores(s5=1.5, s6=1.3)
    data = train_seeds(plans, output, site, silent)
    assert 4 not in site.trained
    assert 5 in site.trained
    assert data["seed"] == 4


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b"policy"), lambda path: path.unlink()])
def test_a_seed_whose_policy_is_damaged_is_trained_again(plans, tmp_path, damage):
    output = tmp_path / "policy.npz"
    train_seeds(plans[:1], output, Scores(s4=1.0), silent)
    damage(tmp_path / "policy-seeds" / "4.npz")
    again = Scores(s4=1.0)
    train_seeds(plans[:1], output, again, silent)
    assert again.trained == [4]
    assert output.read_bytes() == b"policy of 4"


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("{", "damaged"), ("[]", "damaged"), ('{"version": 1, "plan": "another"}', "another training"),
        ('{"version": 1, "plan": THIS, "report": []}', "damaged"),
        ('{"version": 1, "plan": THIS, "report": {"sets": []}}', "damaged"),
    ],
)  # fmt: skip
def test_results_of_other_trainings_and_damaged_ones_are_refused(damage, text, plans, tmp_path):
    output = tmp_path / "policy.npz"
    train_seeds(plans, output, Scores(s4=1.0, s5=1.0, s6=1.0), silent)
    (tmp_path / "policy-seeds" / "5.json").write_text(damage.replace("THIS", json.dumps(plans[1].text)))
    with pytest.raises(ConfigError, match=text):
        train_seeds(plans, output, Scores(), silent)


def test_results_from_before_a_machine_was_changed_are_refused(plans, tmp_path):
    train_seeds(plans[:1], tmp_path / "policy.npz", Scores(s4=1.0), silent)
    changed = replace(plans[0], machines=(replace(plans[0].machines[0], digest="another"),))
    with pytest.raises(ConfigError, match="or a machine has changed since; delete it"):
        train_seeds([changed], tmp_path / "policy.npz", Scores(), silent)


@pytest.mark.parametrize(
    "answer", [[], {}, {"sets": [{"set": "held out"}]}, {"sets": [{"set": TRAINED, "zero_shot": 1}]}]
)
def test_an_answer_that_is_no_report_is_not_kept(answer, plans, tmp_path, monkeypatch):
    site = Scores(s4=1.0)
    monkeypatch.setattr(site, "train", lambda plan, output: answer)
    with pytest.raises(BackendError, match="seed 4 ended without a report"):
        train_seeds(plans[:1], tmp_path / "policy.npz", site, silent)
    assert train_seeds(plans[:1], tmp_path / "policy.npz", Scores(s4=1.0), silent)["seed"] == 4


@pytest.mark.slow
def test_processes_train_as_one_does_and_go_on_after_ctrl_c(plans, tmp_path):
    whole = train_seeds(plans[:1], tmp_path / "whole.npz", TrainsHere(1), silent)
    site, output = TrainsHere(2), tmp_path / "policy.npz"

    def listener(event):
        if event.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match=r"stopped with (2 trainings|1 training) left"):
        train_seeds(plans, output, site, listener)
    with pytest.raises(InterruptedRunError):
        site.train(plans[0], tmp_path / "late.npz")
    data = train_seeds(plans, output, TrainsHere(2), silent)
    assert len(data["seeds"]) == 3
    assert (tmp_path / "policy-seeds" / "4.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert data["seeds"][0] == whole["seeds"][0]
    assert PolicyFile.read(output, "hsdag").provenance["seed"] == data["seed"]


@pytest.mark.slow
def test_a_worker_trains_and_can_be_ended(plans):
    answer = WorkerTraining().run(plans[0].text)
    assert answer["policy"][:2] == b"PK"
    assert json.loads(answer["report"])["updates"] == 3
    long, threads = WorkerTraining(), []
    text = plans[0].text.replace("train.updates = 3", "train.updates = 100000")
    assert text != plans[0].text
    threads.append(threading.Timer(6.0, long.clear))
    threads[0].start()
    with pytest.raises(BackendError, match="ended with exit code"):
        long.run(text)
    with pytest.raises(BackendError, match="gone"):
        long.run(text)


@pytest.mark.parametrize(
    "setting",
    [
        'train.machines=["/etc/passwd"]', 'train.held_out_machines=["mine.toml"]', 'train.placer="os.path"',
        'train.features=["os.path"]', 'placer.policy="/root/policy.npz"',
    ],
)  # fmt: skip
def test_a_worker_reads_no_files_and_imports_no_modules(setting, plans):
    key, value = setting.split("=", 1)
    lines = [line for line in plans[0].text.splitlines() if not line.startswith(key)]
    with pytest.raises(UsageError, match=value.strip('[]"').replace(".", r"\.")):
        check_names("\n".join([*lines, f"{key} = {value}"]))
    with pytest.raises(UsageError, match="not understood"):
        check_names("[train")


def test_a_list_may_be_one_text_as_with_set(plans, tmp_path):
    changed = read_plan(tmp_path / "small.toml", ["train.machines=i9-12900k+flex170,core-ultra"])
    check_names(changed.text)
    with pytest.raises(UsageError, match=r"'mine\.toml' in 'train\.machines'"):
        check_names(changed.text.replace("core-ultra", "mine.toml"))


def test_a_plan_that_makes_no_sense_is_an_error_of_the_training(plans):
    with pytest.raises(ConfigError, match="updates must be at least 1"):
        WorkerTraining().run(plans[0].text.replace("train.updates = 3", "train.updates = 0"))
