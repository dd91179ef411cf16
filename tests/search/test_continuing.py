"""A finished run that is continued: when it is, and what it keeps."""

from __future__ import annotations

import errno
import os
import re
import shutil
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

import openvino as ov
import pytest

from ovplace.commands.run_state import stored_trials, trials_since
from ovplace.core.result.parts import Limits
from ovplace.core.verdict import Status
from ovplace.errors import ConfigError, DeviceError, InterruptedRunError, StoreError, UsageError
from ovplace.search.comparison import final_comparison
from ovplace.search.comparison.finalists import Raced
from ovplace.search.run import DEVICES, run
from ovplace.session.configure import effective
from ovplace.session.events import silent
from ovplace.store.run_folder import RunFolder
from ovplace.testing.models import TINY


@pytest.mark.parametrize(
    ("done", "asked", "covered"),
    [
        ((60, 20, 12), (60, 20, 12), True),
        ((60, 20, 12), (60, 10, 12), True),
        ((60, 20, 12), (60, 30, 12), False),
        ((60, 20, 12), (60, 0, 12), False),
        ((60, 0, 12), (60, 30, 12), True),
        ((60, 0, 12), (61, 0, 12), False),
        ((60, 0, 12), (60, 0, 20), False),
        ((None, 20, 12), (60, 20, 12), True),
        ((60, 20, 12), (None, 20, 12), False),
        ((None, 20, 12), (None, 20, 12), True),
        ((None, 20, 12), (60, 0, 12), False),
    ],
)
def test_a_run_is_finished_for_whoever_asks_for_no_more(done, asked, covered):
    assert Limits(*done).covers(Limits(*asked)) == covered


@pytest.mark.parametrize(
    ("limits", "text"),
    [((60, 0.0, 12), "60 placements"), ((60, 20.0, 12), "60 placements, 20 s"), ((None, 20.0, 12), "20 s")],
)
def test_limits_in_words(limits, text):
    assert str(Limits(*limits)) == text


def config(model, **limits):
    settings = ("measure.min_time_ms=0", "comparison.min_time_ms=0", "comparison.race=0")
    given = {"model": str(model), "machine": "i9-12900k+flex170", "placer": "cut", **limits}
    return effective(None, settings, given)


def simulated(model, folder, listener=silent, **limits):
    return run(config(model, **limits), folder, listener)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tiny.xml"
    ov.save_model(TINY["residual"](), path, compress_to_fp16=False)
    return path


@pytest.fixture(scope="module")
def made(model, tmp_path_factory):
    """Return a function that runs once for each budget, and returns the folder and the result."""

    @cache
    def at(budget):
        folder = tmp_path_factory.mktemp("made") / "run"
        return folder, simulated(model, folder, budget=budget)

    return at


@pytest.fixture
def finished(made, tmp_path):
    """Return a function that leaves a finished run in the folder `run` of the test, and returns its result."""

    def copied(budget=2):
        folder, result = made(budget)
        shutil.copytree(folder, tmp_path / "run")
        return result

    return copied


def test_every_limit_that_a_run_was_finished_under_is_kept(model, finished, tmp_path):
    folder = tmp_path / "run"
    small = finished()
    large = simulated(model, folder, budget=4, time_s=500.0)
    assert [limits.budget for limits in large.search.finished_under] == [2, 4]
    for limits in ({"budget": 2}, {"budget": 4, "time_s": 500.0}, {"budget": 3, "time_s": 20.0}):
        assert simulated(model, folder, **limits) == large
    assert small.search.trials < large.search.trials
    assert len(simulated(model, folder, budget=4).search.finished_under) == 3


def test_a_run_is_continued_on_its_own_devices(model, finished, tmp_path):
    folder = RunFolder(tmp_path / "run")
    finished()
    with closing(folder.open_store()) as store:
        own = store.get(DEVICES)
        store.put(DEVICES, ["GPU (another)"])
    with pytest.raises(DeviceError, match=r"began with GPU \(another\), and the devices are now GPU \(Intel"):
        simulated(model, folder.path, budget=3)
    for kept in (own, None):  # None is of earlier versions
        with closing(folder.open_store()) as store:
            store.put(DEVICES, kept)
        assert simulated(model, folder.path, budget=4 if kept else 5).search.trials > 2


def test_a_call_without_time_works_with_the_costs_that_the_run_knows(model, tmp_path):
    first, late = (
        simulated(model, tmp_path / "run", placer="min_cut", **limits) for limits in ({"budget": 2}, {"time_s": 0.001})
    )
    assert first.search.costs == late.search.costs is not None


def test_a_damaged_result_is_made_anew(model, finished, tmp_path):
    folder = tmp_path / "run"
    finished()
    RunFolder(folder).result.write_text("{")
    assert simulated(model, folder, budget=2).search.trials == 2


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("placed.bin", cut),
        ("placed.bin", flip),
        ("placed.xml", cut),
        ("placement.json", cut),
        ("placement.json", lambda path: path.write_text("[]")),
        ("placement.json", lambda path: path.write_text(path.read_text().replace('"CPU"', '"NPU"', 1))),
    ],
)
def test_damaged_files_of_the_answer_are_made_anew_without_measuring(model, finished, tmp_path, name, damage):
    folder, told = RunFolder(tmp_path / "run"), []
    first = finished()
    good = {path: path.read_bytes() for path in folder.answer_files() if path != folder.result}
    damage(folder.path / name)
    again = simulated(model, folder.path, told.append, budget=2)
    assert {path: path.read_bytes() for path in good} == good
    assert (again.best, again.verdict, again.search.seconds.measuring) == (first.best, first.verdict, 0.0)
    assert f"files of the answer in '{folder}' are damaged; they are made anew" in [event.text for event in told]
    assert simulated(model, folder.path, budget=2) == again


@pytest.mark.parametrize(
    ("name", "damage"),
    [("placed.bin", cut), ("placed.bin", flip), ("placed.bin", Path.unlink), ("placed.xml", cut)],
)
def test_a_damaged_model_of_a_stopped_run_is_made_anew(model, finished, tmp_path, name, damage):
    folder = RunFolder(tmp_path / "run")
    first = finished()
    good = {path: path.read_bytes() for path in folder.answer_files() if path != folder.result}
    folder.result.unlink()
    damage(folder.path / name)
    again = simulated(model, folder.path, budget=2)
    assert {path: path.read_bytes() for path in good} == good
    assert (again.best, again.verdict, again.search.seconds.measuring) == (first.best, first.verdict, 0.0)


def test_files_of_the_answer_that_cannot_be_read_are_one_clear_error(model, tmp_path, monkeypatch):
    folder = RunFolder(tmp_path / "run")
    simulated(model, folder.path, budget=2)

    def refuse(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr("ovplace.search.run.fingerprint", refuse)
    with pytest.raises(StoreError, match=r"^cannot read the answer in '.*run': Permission denied; check its perm"):
        simulated(model, folder.path, budget=2)


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b""), lambda path: path.unlink()])
def test_lost_trials_are_made_anew(model, finished, tmp_path, damage):
    folder, told = RunFolder(tmp_path / "run"), []
    assert finished().search.trials == 2
    damage(folder.database)
    assert simulated(model, folder.path, told.append, budget=2).search.trials == 2
    assert f"'{folder.database}' holds 0 of 2 trials; the others are made anew" in [event.text for event in told]
    with closing(folder.open_store()) as store:
        assert store.count_trials() == 2


def test_a_model_that_is_a_link_to_itself_is_one_clear_error(model, finished, tmp_path):
    folder = RunFolder(tmp_path / "run")
    finished()
    folder.placed_model.unlink()
    folder.placed_model.symlink_to(folder.placed_model)
    with pytest.raises(UsageError, match=f"cannot look up the prepared model '{folder.placed_model}'"):
        simulated(model, folder.path, budget=2)


@pytest.mark.parametrize("name", ["placed.xml", "result.json"])
def test_a_folder_in_the_place_of_a_file_of_the_answer_is_one_clear_error(model, finished, tmp_path, name):
    path = tmp_path / "run" / name
    finished()
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreError, match=f"cannot delete '{path}', to make it anew: .*; delete it, and repeat"):
        simulated(model, path.parent, budget=2)
    path.rmdir()
    assert simulated(model, path.parent, budget=2).search.seconds.measuring == 0.0


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut, "Expecting|Unterminated|Invalid"),
        (lambda path: path.write_text('{"schema": 99}'), "it has schema 99, this ovplace reads 1"),
    ],
)
def test_why_a_result_cannot_be_read_is_said_before_it_is_made_anew(model, finished, tmp_path, damage, why):
    folder, told = RunFolder(tmp_path / "run"), []
    first = finished()
    damage(folder.result)
    again = simulated(model, folder.path, told.append, budget=2)
    assert (again.best, again.verdict, again.search.seconds.measuring) == (first.best, first.verdict, 0.0)
    begin = re.escape(f"the result in '{folder}' cannot be read (")
    assert any(re.match(rf"{begin}.*({why}).*\); it is made anew", event.text) for event in told)
    assert folder.read_result() == again


@pytest.mark.parametrize("status", Status)
def test_an_earlier_answer_stands_where_a_later_call_compares_nothing(model, finished, tmp_path, monkeypatch, status):
    folder = tmp_path / "run"
    found = finished(4)
    won = replace(found, verdict=replace(found.verdict, status=status))
    RunFolder(folder).write_result(won)
    monkeypatch.setattr(final_comparison, "choose", lambda *_: Raced(None))
    later = simulated(model, folder, budget=6)
    assert (later.best, later.found, later.verdict.status) == (won.best, won.found, status)
    assert later.verdict.notes[-1] == "so the answer of an earlier call stands"
    assert later.search.trials == 6
    assert RunFolder(folder).read_result() == later


def test_a_continuation_without_time_loses_nothing_of_what_an_earlier_call_found(model, finished, tmp_path):
    folder = tmp_path / "run"
    first = finished(4)
    later = simulated(model, folder, budget=9, time_s=1e-3)
    assert first.found
    assert (later.found, later.best, later.verdict.ratio) == (first.found, first.best, first.verdict.ratio)
    assert (later.search.trials, later.search.measured) == (4, first.search.measured)
    assert later.verdict.notes == ("the search was cut short after 4 of 9 placements",)
    assert trials_since(folder, later, stored_trials(folder)) is None


def test_a_result_that_two_placements_were_compared_for_is_read_again(model, finished, tmp_path):
    folder = RunFolder(tmp_path / "run")
    first = finished(4)
    with closing(folder.open_store()) as store:
        mixed = [trial.placement for trial in store.trials() if min(trial.placement.ops_per_device().values())]
    another = next(placement for placement in mixed if placement.hash != first.found.hash)
    won = replace(first.verdict, status=Status.FASTER)
    folder.write_result(replace(first, best=replace(first.best, hash=another.hash), verdict=won))
    later = simulated(model, folder.path, budget=5)
    assert later.verdict.ratio.level == 0.99
    assert folder.read_result() == later == simulated(model, folder.path, budget=4)


def test_only_a_run_that_has_begun_is_said_to_be_continued(model, tmp_path):
    def said(budget):
        events = []
        simulated(model, tmp_path / "run", events.append, budget=budget)
        return [event.text for event in events if event.phase == "prepare" and "the run in" in event.text]

    assert said(2) == []
    assert said(4) == [f"continuing the run in '{tmp_path / 'run'}'"]
    (finished,) = said(4)
    assert finished.startswith(f"the run in '{tmp_path / 'run'}' is finished (")
    assert finished.endswith("; a larger --budget continues it")


def test_another_run_in_the_folder_is_refused_and_kept(model, finished, tmp_path):
    folder = tmp_path / "run"
    first = finished()
    with pytest.raises(ConfigError, match=r"holds another run \(search\.seed differs\)"):
        simulated(model, folder, budget=2, seed=3)
    with pytest.raises(ConfigError, match=r"holds another run \(backend\.machine differs\)"):
        simulated(model, folder, budget=2, machine="core-ultra")
    assert simulated(model, folder, budget=2) == first


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("source", "tiny.xml' has changed since the run in"),
        ("machine", "i9-12900k\\+flex170' has changed since the run in"),
        ("site", "began on a fleet, with --cluster; choose another folder"),
    ],
)
def test_a_run_that_began_with_something_else_is_refused(model, finished, tmp_path, key, message):
    folder = tmp_path / "run"
    finished()
    with closing(RunFolder(folder).open_store()) as store:
        store.put(key, "a fleet")
    with pytest.raises(ConfigError, match=message):
        simulated(model, folder, budget=4)


def test_a_machine_file_that_has_changed_since_is_refused(model, tmp_path):
    shipped = Path(__file__).parents[2] / "configs" / "machines" / "i9-12900k+flex170.toml"
    mine = Path(shutil.copyfile(shipped, tmp_path / "mine.toml"))
    first = simulated(model, tmp_path / "run", budget=2, machine=str(mine))
    mine.write_text(re.sub(r"peak_gflops = \d+", "peak_gflops = 77", mine.read_text()))
    with pytest.raises(ConfigError, match=r"mine\.toml' has changed since the run in"):
        simulated(model, tmp_path / "run", budget=4, machine=str(mine))
    shutil.copyfile(shipped, mine)
    assert simulated(model, tmp_path / "run", budget=2, machine=str(mine)) == first


def test_a_state_that_the_placer_cannot_read_is_one_clear_error(model, finished, tmp_path):
    folder = tmp_path / "run"
    finished()
    with closing(RunFolder(folder).open_store()) as store:
        store.save_checkpoint({"strange": 1}, {})
    with pytest.raises(StoreError, match=r"^the placer 'cut' cannot go on from the state in the run folder \(KeyError"):
        simulated(model, folder, budget=4)


def test_a_stopped_run_says_how_it_continues(model, tmp_path):
    def stop(event):
        if event.phase == "search":
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match=r"the same command continues in '.*/run'"):
        simulated(model, tmp_path / "run", stop, budget=2)
    result = run(config(model, budget=2), tmp_path / "run", command="ovplace optimize tiny.xml")
    assert result.search.trials == 2
    assert result.environment.command == "ovplace optimize tiny.xml"
    assert 0 < result.search.seconds.preparing < result.search.seconds.total
