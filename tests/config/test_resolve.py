"""One run, however it is given: by options, by TOML, by an earlier version's file."""

from __future__ import annotations

import dataclasses
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ovplace.config import toml
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.errors import ConfigError, UsageError
from ovplace.plugins import registry
from ovplace.session.configure import effective
from ovplace.shipped import shipped

PLACERS = registry.names("placers")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_options_and_toml_describe_the_same_run(tmp_path_factory, data):
    name = data.draw(st.sampled_from(PLACERS), "placer")
    defaults = dataclasses.asdict(registry.load("placers", name).Config())
    known = [key for key, value in defaults.items() if value is not None]
    chosen = data.draw(st.lists(st.sampled_from(known), unique=True) if known else st.just([]), "settings")
    table = {key: varied(defaults[key], data) for key in chosen}
    path = tmp_path_factory.mktemp("same") / "run.toml"
    written = "".join(f"{key} = {toml.value_text(value)}\n" for key, value in table.items())
    path.write_text(f'[search]\nplacer = "{name}"\n[placer]\n{written}', encoding="utf-8")
    texts = [f"placer.{key}={text(value)}" for key, value in table.items()]
    by_toml, by_options = outcome(path, ()), outcome(None, [f"search.placer={name}", *texts])
    assert by_toml == by_options
    if isinstance(by_toml, RunConfig):
        path.write_text(toml.dumps(by_toml), encoding="utf-8")
        assert resolved(toml.read_stored(path)) == by_toml, "what is stored is another run"
        assert tomllib.loads(path.read_text(encoding="utf-8")) == tomllib.loads(toml.dumps(by_options))


def varied(value, data):
    if isinstance(value, int) and not isinstance(value, bool):
        return value + data.draw(st.integers(0, 2))
    return value * data.draw(st.sampled_from([1, 0.5])) if isinstance(value, float) else value


def text(value):
    return ",".join(map(text, value)) if isinstance(value, list | tuple) else str(value)


def outcome(path, texts):
    try:
        return effective(path, texts)
    except ConfigError as error:
        return str(error)


def test_a_folder_of_an_earlier_version_holds_the_same_run(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(
        '[search]\nplacer = "cut"\nbackend = "simulate"\n[duel]\nrounds = 4\n[costs]\nreuse = false\n'
        '[placer]\ngrid = "3"\n[backend]\nmachine = "null"\n'
    )
    changes = ["placer.grid=3", "comparison.rounds=4", "profiling.reuse=no"]
    assert resolved(toml.read_stored(path)) == effective(None, changes, {"placer": "cut", "machine": "null"})


def test_a_machine_is_a_backend_with_that_machine():
    short = effective(None, (), {"machine": "core-ultra"})
    assert (short.search.backend, short.backend["machine"]) == ("simulate", "core-ultra")
    assert short == effective(None, ["search.machine=core-ultra"])
    assert short == effective(None, ["backend.machine=core-ultra"], {"backend": "simulate"})
    with pytest.raises(UsageError, match="--backend is 'openvino'; leave one of them out"):
        effective(None, (), {"machine": "core-ultra", "backend": "openvino"})


def test_a_policy_is_a_placer_with_that_policy():
    short = effective(None, (), {"policy": "shipped"})
    assert (short.search.placer, short.placer["policy"]) == ("hsdag", "shipped")
    assert effective(None, (), {"policy": "shipped", "placer": "placeto"}).search.placer == "placeto"
    with pytest.raises(UsageError, match="no trained policy of the placer 'cut'"):
        effective(None, (), {"policy": "shipped", "placer": "cut"})


def test_short_forms_must_be_resolved():
    with pytest.raises(ConfigError, match="must be resolved first"):
        resolved(RunConfig(search=SearchConfig(machine="null")))


@pytest.mark.parametrize("section", ["features.work", "devices.mine"])
def test_what_is_no_table_is_named(section):
    with pytest.raises(ConfigError, match=f"'{section}' must be a table of settings, got '3'"):
        effective(None, [f"{section}=3"])


def test_files_are_the_same_by_any_spelling_and_from_any_working_directory(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(shipped("configs/machines/null.toml").read_text())
    (tmp_path / "inputs.npz").touch()
    monkeypatch.chdir(tmp_path)
    given = {"input": "inputs.npz", "machine": "mine.toml"}
    found = effective(None, (), given)
    assert found == effective(None, (), {name: f"./{path}" for name, path in given.items()})
    monkeypatch.chdir("/")
    assert found == effective(None, (), {name: str(tmp_path / path) for name, path in given.items()})


def test_what_is_no_file_is_kept_as_it_is_written():
    found = effective(None, ["backend.machine=core-ultra"], {"backend": "simulate", "input": "nothing.npz"})
    assert (found.search.input, found.backend["machine"]) == ("nothing.npz", "core-ultra")
