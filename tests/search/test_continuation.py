"""Whether a run folder holds the same run, and whether that has something left to do; nothing is measured here."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.config.resolve import resolved
from ovplace.config.schema import ComparisonConfig, RunConfig, SearchConfig
from ovplace.core.result.parts import Limits
from ovplace.errors import ConfigError, StoreError
from ovplace.search.continuation import (
    check_fingerprints,
    earlier_result,
    finishing_limits,
    limits_of,
    opened_store,
)
from ovplace.session.fingerprint import fingerprint
from ovplace.store.run_folder import RunFolder
from ovplace.testing.results import run_result


@pytest.fixture
def folder(tmp_path):
    made = RunFolder(tmp_path / "run")
    made.create()
    return made


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(b"a model")
    return path


def asking(model="m.onnx", **search):
    """Return the configuration of a run on a simulated machine."""
    given = {"backend": "simulate", "placer": "cut", **search}
    return resolved(RunConfig(search=SearchConfig(model=str(model), **given), comparison=ComparisonConfig(rounds=6)))


def test_what_killed_runs_have_left_is_deleted_and_nothing_else(folder):
    gone = 10**30  # no process has such a number
    mine = [f"data.{gone}.tmp", f"config.toml.bak.{gone}.tmp", "links.tmp"]
    for name in (*mine, f"config.toml.{gone}.tmp", f"links.{gone}.tmp", f"given.npz.{gone}.tmp"):
        (folder.path / name).touch()
    with opened_store(asking(), folder):
        assert {path.name for path in folder.path.glob("*.tmp")} == set(mine)


@pytest.mark.parametrize(
    "change",
    [{"cluster": "tls://here:1"}, {"budget": 7}, {"time_s": 9.0}, {"require_gain": True}, {"early_exit": False}],
)
def test_limits_and_where_it_is_measured_may_change(folder, change):
    folder.write_config(asking())
    with opened_store(asking(**change), folder):
        pass


@pytest.mark.parametrize("text", ["GPU, CPU_A=CPU{NUM_STREAMS : 1, LOG_LEVEL:LOG_NONE} ", "HETERO:GPU,{}", "GPU,{}"])
def test_devices_may_be_written_in_another_way(folder, text):
    cpu = "CPU_A=CPU{LOG_LEVEL:LOG_NONE,NUM_STREAMS:1}"
    folder.write_config(asking(device=f"GPU,{cpu}"))
    with opened_store(asking(device=text.replace("{}", cpu)), folder):
        pass
    for other in ("", f"{cpu},GPU", "GPU"):
        with pytest.raises(ConfigError, match=r"search\.device differs"), opened_store(asking(device=other), folder):
            pass


def test_the_number_of_rounds_may_change_and_how_a_round_is_measured_may_not(folder):
    folder.write_config(asking())
    with opened_store(replace(asking(), comparison=ComparisonConfig(rounds=9)), folder):
        pass
    with (
        pytest.raises(ConfigError, match=r"\(comparison\.blocks differs\)"),
        opened_store(replace(asking(), comparison=ComparisonConfig(rounds=6, blocks=4)), folder),
    ):
        pass


PLACER = """
from dataclasses import dataclass
from ovplace.placers.random import Placer as Placer

@dataclass(frozen=True)
class Config:
    rounds: int = 1
"""


def test_a_setting_of_a_plug_in_may_not_change_though_it_is_called_like_one_that_may(folder, tmp_path, monkeypatch):
    (tmp_path / "own_plugins").mkdir()
    (tmp_path / "own_plugins" / "often.py").write_text(PLACER)
    monkeypatch.syspath_prepend(tmp_path)
    began = asking(placer="own_plugins.often")
    folder.write_config(began)
    changed = resolved(replace(began, placer={"rounds": 9}))
    with pytest.raises(ConfigError, match=r"\(placer\.rounds differs\)"), opened_store(changed, folder):
        pass


OF_THE_PLACER = [f"placer.{name}" for name in sorted(asking().placer)]


@pytest.mark.parametrize(
    ("placer", "differ"),
    [
        (asking().search.placer, ["search.batch", "search.seed", *OF_THE_PLACER]),
        ("random", ["search.batch", "search.placer", "search.seed"]),  # whose settings say nothing more
    ],
)
def test_another_run_is_refused_with_all_that_differs(folder, placer, differ):
    folder.write_config(asking())
    changed = replace(asking(seed=3, batch=2, placer=placer), placer={})
    with pytest.raises(ConfigError) as caught, opened_store(changed, folder):
        pass
    assert str(caught.value) == (
        f"'{folder}' holds another run ({', '.join(differ)} differ); choose another folder with -o, or delete it"
    )


def test_a_model_may_be_called_from_elsewhere_and_must_be_the_same(folder, model):
    with opened_store(asking(model), folder) as store:
        store.put("source", check_fingerprints(asking(model), folder, store)["source"])
        folder.write_config(asking(model))
    elsewhere = model.parent / "run" / ".." / model.name
    with opened_store(asking(elsewhere), folder) as store:
        check_fingerprints(asking(elsewhere), folder, store)
        other = model.with_name("other.onnx")
        other.write_bytes(b"another model")
        with pytest.raises(ConfigError, match=r"other\.onnx' has changed since the run in .* began, or is another one"):
            check_fingerprints(asking(other), folder, store)


@pytest.fixture
def inputs(tmp_path):
    path = tmp_path / "inputs.npz"
    path.write_bytes(b"inputs")
    return path


def begin(folder, config):
    """Note that a run has begun in a folder, as the search does."""
    with opened_store(config, folder) as store:
        for key, value in check_fingerprints(config, folder, store).items():
            store.put(key, value)
        folder.write_config(config)


def test_inputs_that_have_changed_are_refused(folder, model, inputs):
    config = asking(model, input=str(inputs))
    begin(folder, config)
    with opened_store(config, folder) as store:
        check_fingerprints(config, folder, store)
        inputs.write_bytes(b"other inputs")
        with pytest.raises(ConfigError, match=r"inputs\.npz' has changed since the run in .* began, or is another one"):
            check_fingerprints(config, folder, store)


def test_inputs_and_machines_may_be_called_from_elsewhere_and_must_be_the_same(folder, model, inputs, tmp_path):
    shipped = Path(__file__).parents[2] / "configs" / "machines" / "null.toml"
    moved = tmp_path / "moved"
    moved.mkdir()

    def at(place):
        machine = {"machine": str(shutil.copyfile(shipped, place / "mine.toml"))}
        return resolved(replace(asking(model, input=str(place / inputs.name)), backend=machine))

    begin(folder, at(tmp_path))
    (moved / inputs.name).write_bytes(inputs.read_bytes())
    with opened_store(at(moved), folder) as store:
        check_fingerprints(at(moved), folder, store)
    (moved / inputs.name).write_bytes(b"other inputs")
    with (
        pytest.raises(ConfigError, match=r"holds another run \(search\.input differs\)"),
        opened_store(at(moved), folder),
    ):
        pass


def test_a_folder_without_a_run_is_for_any(folder):
    with opened_store(asking(seed=3), folder):
        assert folder.database.exists()


def test_an_answer_that_was_exported_there_is_not_replaced(folder):
    folder.placement.write_text("{}")
    with pytest.raises(ConfigError, match="holds an answer without its run"), opened_store(asking(), folder):
        pass
    assert [path.name for path in folder.path.iterdir()] == ["placement.json"]


def test_a_store_is_kept_once_a_run_begins_or_where_it_was_there_before(folder):
    with opened_store(asking(), folder):
        pass
    assert not folder.database.exists()
    with opened_store(asking(), folder):
        folder.write_config(asking())
    assert folder.database.exists()
    folder.config.unlink()
    with opened_store(asking(), folder):
        pass
    assert folder.database.exists()


def test_what_a_killed_process_has_left_is_deleted(folder):
    left = folder.path / "result.json.99999999.tmp"
    left.write_text("half")
    with opened_store(asking(), folder):
        pass
    assert not left.exists()


def test_the_fingerprints_are_of_model_machine_and_site(folder, model):
    with closing(folder.open_store()) as store:
        found = check_fingerprints(asking(model), folder, store)
        fleet = check_fingerprints(asking(model, cluster="tls://here:1"), folder, store)
        real = check_fingerprints(asking(model, backend="openvino"), folder, store)
    assert found == {"source": fingerprint(model), "input": "", "machine": found["machine"], "site": "this machine"}
    assert fleet == {**found, "site": "a fleet"}
    assert real == {**found, "machine": ""}
    assert found["machine"] != ""


@pytest.mark.parametrize("key", ["source", "machine", "site"])
def test_fingerprints_of_a_run_that_has_not_begun_do_not_matter(folder, model, key):
    with closing(folder.open_store()) as store:
        store.put(key, "another")
        assert check_fingerprints(asking(model), folder, store)[key] != "another"


def test_fingerprints_that_earlier_versions_did_not_keep_do_not_matter(folder, model):
    folder.write_config(asking(model))
    with closing(folder.open_store()) as store:
        assert check_fingerprints(asking(model), folder, store)["site"] == "this machine"


AGAIN = "; choose another folder with -o, or delete it"


@pytest.mark.parametrize(
    ("key", "began", "search", "says"),
    [
        ("source", "other", {}, "'{model}' has changed since the run in '{folder}' began"),
        ("machine", "other", {}, "'{machine}' has changed since the run in '{folder}' began"),
        ("machine", "other", {"backend": "openvino"}, "'the simulated machine' has changed since the run in "),
        ("site", "a fleet", {}, "the run in '{folder}' began on a fleet, with --cluster"),
        ("site", "this machine", {"cluster": "tls://here:1"}, "the run in '{folder}' began on this machine, without"),
    ],
)
def test_a_run_that_began_with_something_else_is_refused(folder, model, key, began, search, says):
    config = asking(model, **search)
    folder.write_config(config)
    with closing(folder.open_store()) as store, pytest.raises(ConfigError) as caught:
        fingerprints = check_fingerprints(config, folder, store)
        for name, value in {**fingerprints, key: began}.items():
            store.put(name, value)
        check_fingerprints(config, folder, store)
    expected = says.format(model=model, folder=folder, machine=config.backend.get("machine"))
    assert str(caught.value).startswith(expected)
    assert str(caught.value).endswith(AGAIN)


def test_the_limits_of_a_call_are_its_budget_its_time_and_its_rounds():
    assert limits_of(asking(budget=7, time_s=9.0)) == Limits(7, 9.0, 6)


def finished(folder, *under, trials=10, **search):
    """Finish a run in a folder; return its result."""
    folder.write_config(asking(**search))
    result = run_result()
    result = replace(result, search=replace(result.search, trials=trials, finished_under=under))
    folder.write_result(result)
    return result


def test_a_result_is_that_of_an_earlier_call_once_all_files_are_there(folder):
    result = finished(folder)
    assert earlier_result(folder) is None
    for path in (folder.placement, folder.database, folder.prepared_model):
        path.touch()
    assert earlier_result(folder) == result
    folder.result.write_text("{")
    with pytest.raises(StoreError, match="cannot read the run"):
        earlier_result(folder)


def test_a_run_is_finished_under_the_first_limits_that_cover_those_asked_for(folder):
    under = (Limits(5, 0.0, 6), Limits(20, 0.0, 6), Limits(30, 0.0, 6))
    result = finished(folder, *under, budget=30)
    assert finishing_limits(asking(budget=10), folder, result) == under[1]
    assert finishing_limits(asking(budget=40), folder, result) is None


def test_a_result_without_limits_is_finished_under_those_of_its_last_call(folder):
    result = finished(folder, budget=30)
    assert finishing_limits(asking(budget=10), folder, result) == Limits(30, 0.0, 6)
    assert finishing_limits(asking(budget=31), folder, result) is None


@pytest.mark.parametrize(
    ("before", "now", "trials", "is_finished"),
    [(True, False, 0, False), (True, False, 3, True), (True, True, 0, True), (False, False, 0, True)],
)
def test_a_search_that_may_have_been_skipped_is_not_finished_for_who_wants_one(
    folder, before, now, trials, is_finished
):
    result = finished(folder, trials=trials, early_exit=before)
    assert (finishing_limits(asking(early_exit=now), folder, result) is not None) == is_finished
