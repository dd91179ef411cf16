"""Policy files: what goes in comes out, and everything else is one clear line."""

import errno
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ovplace.errors import StoreError, UsageError
from ovplace.learning import policy_file
from ovplace.learning.policy_file import SHIPPED, PolicyFile
from ovplace.plugins import registry
from ovplace.testing.graphs import diamond, problem


def made(features=("op_type", "depth"), n_features=208):
    network = nn.Linear(3, 4)
    return network, PolicyFile.from_network(network, "hsdag", {"hidden": 3}, features, n_features, {"seed": 1})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "policy.npz"
    made()[1].write(path)
    return path


def test_what_is_written_is_read(tmp_path):
    network, policy = made()
    policy.write(tmp_path / "deep" / "policy.npz")
    found = PolicyFile.read(tmp_path / "deep" / "policy.npz", "hsdag")
    assert (found.placer, found.settings, found.provenance) == ("hsdag", {"hidden": 3}, {"seed": 1})
    assert (found.features, found.n_features) == (("op_type", "depth"), 208)
    other = nn.Linear(3, 4)
    found.into(other)
    assert torch.equal(other.weight, network.weight) and torch.equal(other.bias, network.bias)


def test_the_same_policy_is_the_same_bytes(file, tmp_path):
    PolicyFile.read(file).write(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == file.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"policy.npz", "again.npz"}, "no temporary file is left"


def test_it_holds_nothing_that_runs_when_it_is_read(file):
    with np.load(file, allow_pickle=False) as archive:
        assert all(archive[name].dtype.kind in "fU" for name in archive.files)


def cut(path):
    path.write_bytes(path.read_bytes()[:300])


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0xFF
    path.write_bytes(data)


def other_archive(path):
    np.savez(path, a=np.ones(2))


def other_schema(path):
    np.savez(path, about=np.array('{"schema": 99}'))


def no_placer(path):
    np.savez(path, about=np.array('{"schema": 1}'))


def diverged(path):
    policy = made()[1]
    replace(policy, weights={**policy.weights, "bias": np.array([1, 2, np.nan, 4], dtype=np.float32)}).write(path)


def pickled(path):
    np.savez(path, about=np.array([{"schema": 1}], dtype=object))


def lone_array(path):
    with path.open("wb") as target:
        np.save(target, np.ones(3))


BROKEN = [
    cut,
    flipped,
    other_archive,
    other_schema,
    no_placer,
    diverged,
    pickled,
    lambda path: path.write_text("hello"),
    lambda path: path.write_bytes(b""),
    lone_array,
]


@pytest.mark.parametrize("breaking", BROKEN)
def test_what_is_no_policy_is_said_to_be_none(breaking, file):
    breaking(file)
    with pytest.raises(UsageError, match=r"not a policy file") as said:
        PolicyFile.read(file)
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"n_features": "wide"}, "damaged .*'wide'"),
        ({"n_features": float("inf")}, "damaged .*infinity"),
        ({"features": [[1]]}, r"damaged \(expected a list of names, got \[\[1\]\]\)"),
        ({"features": "depth"}, "damaged .*got 'depth'"),
        ({"settings": None}, "damaged"),
    ],
)
def test_a_damaged_description_is_said_to_be_damaged(wrong, said, file):
    with np.load(file) as archive:
        arrays = dict(archive)
    arrays["about"] = np.array(json.dumps(json.loads(str(arrays["about"])) | wrong))
    np.savez(file, **arrays)
    with pytest.raises(UsageError, match=f"not a policy file.*its description is {said}"):
        PolicyFile.read(file)


def test_wrong_paths_and_wrong_placers_are_named(file, tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.npz.*No such file"):
        PolicyFile.read(tmp_path / "nowhere.npz")
    with pytest.raises(UsageError, match=r"directory"):
        PolicyFile.read(tmp_path)
    with pytest.raises(UsageError, match=r"of the placer 'hsdag', not of 'placeto'"):
        PolicyFile.read(file, "placeto")
    with pytest.raises(UsageError, match=r"no trained policy of the placer 'random' comes"):
        PolicyFile.read(SHIPPED, "random")


def with_features(names, columns):
    of = problem(diamond())
    return replace(of, features=np.zeros((len(of.graph), columns)), feature_names=names)


def test_other_features_and_vocabularies_are_refused(file, monkeypatch):
    policy = PolicyFile.read(file)
    same = with_features(("op_type", "depth"), 208)
    policy.check_features(same)
    for names, columns, said in (
        (("depth", "op_type"), 208, r"depth, op_type \(208\)"),
        (("op_type", "degree"), 208, r"op_type, degree \(208\)"),
        (("op_type", "depth"), 7, r"op_type, depth \(7\)"),
        ((), 1, r"none \(1\)"),
    ):
        with pytest.raises(UsageError, match=rf"op_type, depth \(208 .* has {said}; give .*=op_type,depth$"):
            policy.check_features(with_features(names, columns))
        made(features=())[1].check_features(with_features(names, columns))  # one without features takes any problem
    monkeypatch.setattr("ovplace.features.op_type.VOCABULARY", ("Add", "Relu"))
    with pytest.raises(UsageError, match=r"do not mean what they did"):
        PolicyFile.read(file)


def test_weights_of_another_network_are_refused(file):
    for network in (nn.Linear(2, 4), nn.Sequential(nn.Linear(3, 4))):
        with pytest.raises(UsageError, match=r"do not fit the network") as said:
            PolicyFile.read(file).into(network)
        assert "\n" not in str(said.value)


def built_from(policy, path):
    plugin = registry.load("placers", policy.placer)
    policy.write(path)
    plugin.factory(problem(diamond()), plugin.config({"policy": str(path)})).ask(1)


@pytest.mark.parametrize("settings", [{"hidden": 1000}, {"graph_layers": 1000}, {"rounds": 4, "hidden": 1000}])
def test_settings_of_a_larger_network_than_the_weights_are_refused_before_it_takes_memory(
    settings, tmp_path, monkeypatch
):
    policy = PolicyFile.read(SHIPPED, "placeto" if "rounds" in settings else "hsdag")
    built_from(policy, tmp_path / "policy.npz")
    drawn, draw = [], nn.init.kaiming_uniform_

    def counted(weight, *args, **more):
        drawn.append(weight.numel())
        return draw(weight, *args, **more)

    monkeypatch.setattr(nn.init, "kaiming_uniform_", counted)
    with pytest.raises(UsageError, match=r"do not fit the network.*has more of them"):
        built_from(replace(policy, settings={**policy.settings, **settings}), tmp_path / "larger.npz")
    assert sum(drawn) <= sum(weight.size for weight in policy.weights.values())
    built_from(policy, tmp_path / "policy.npz")


@pytest.mark.parametrize("hidden", [2**62, 1e30])
@pytest.mark.parametrize("placer", ["hsdag", "placeto"])
def test_sizes_that_no_network_can_have_are_refused(placer, hidden, tmp_path):
    policy = PolicyFile.read(SHIPPED, placer)
    with pytest.raises(UsageError, match=r"do not fit the network of .*sizes that none can have"):
        built_from(replace(policy, settings={**policy.settings, "hidden": hidden}), tmp_path / "huge.npz")


def test_networks_of_other_threads_do_not_count():
    policy = PolicyFile.from_network(nn.Linear(3, 4), "hsdag", {}, (), 0, {})
    with ThreadPoolExecutor(1) as other, policy.limiting():
        other.submit(nn.Linear, 30, 40).result()
        nn.Linear(3, 4)
        with pytest.raises(UsageError, match="has more of them"):
            nn.Linear(3, 4)


@pytest.mark.parametrize("settings", [{"hidden": wrong} for wrong in (0, "wide", [3], None)] + [{"widths": 3}])
def test_settings_that_are_none_of_the_placer_are_refused(settings):
    policy = PolicyFile.from_network(nn.Linear(3, 4), "hsdag", settings, (), 0, {})
    with pytest.raises(UsageError, match=r"has settings that 'hsdag' does not know: .*hidden"):
        policy.over(registry.load("placers", "hsdag").Config())


def test_settings_replace_those_of_the_placer():
    config = registry.load("placers", "hsdag").config({"steps": 7, "hidden": 5})
    assert made()[1].over(config) == replace(config, hidden=3)


@pytest.mark.parametrize("placer", ["hsdag", "placeto"])
def test_a_preset_does_not_change_the_network_of_a_policy(placer):
    plugin, policy = registry.load("placers", placer), PolicyFile.read(SHIPPED, placer)
    published = policy.over(plugin.config({"preset": "paper"})).policy_settings
    assert published == policy.over(plugin.Config()).policy_settings


def test_a_full_disk_leaves_the_old_file(file, monkeypatch):
    before = file.read_bytes()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(StoreError, match=r"No space left on device"):
        made()[1].write(file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["policy.npz"]


def test_a_path_that_cannot_be_written_is_named(file):
    with pytest.raises(StoreError, match=r"cannot write the policy"):
        made()[1].write(file / "below.npz")


def test_what_would_fill_the_memory_is_refused_before_it_is_unpacked(file, monkeypatch):
    monkeypatch.setattr(policy_file, "LARGEST_BYTES", 100)
    with pytest.raises(UsageError, match="is not a policy file"):
        PolicyFile.read(file)
