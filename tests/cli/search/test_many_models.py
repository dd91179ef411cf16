"""`ovplace optimize` with several models: a table of answers, and an exit code of its own."""

import json
import shutil
from pathlib import Path

import pytest

from ovplace.cli.output.many_models import show_searches
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict
from ovplace.errors import ReportWarning, UsageError
from ovplace.experiments.many_models import ModelSearch, run_folders, search_models
from ovplace.store.run_folder import RunFolder
from ovplace.testing.results import run_result

SIMULATED = (
    *("--machine", "i9-12900k+flex170", "--placer", "cut", "--budget", "2", "--set", "comparison.rounds=2"),
    *("--set", "measure.min_time_ms=0", "--set", "comparison.min_time_ms=0"),
)


@pytest.fixture(scope="module")
def two(tiny, tmp_path_factory):
    """Return two models of one name in different folders."""
    out = tmp_path_factory.mktemp("two")
    copies = [out / folder / tiny.name for folder in ("first", "second")]
    for copy in copies:
        copy.parent.mkdir()
        shutil.copy(tiny, copy)
        shutil.copy(tiny.with_suffix(".bin"), copy.with_suffix(".bin"))
    return copies


def test_each_model_has_a_run_folder_and_a_line(ovplace, two, tmp_path):
    done = ovplace("optimize", *two, *SIMULATED, "-o", tmp_path)
    assert done.code == 0, done.err
    folders = [tmp_path / "first-tiny.xml", tmp_path / "second-tiny.xml"]
    for model, folder in zip(two, folders, strict=True):
        line = next(line for line in done.out.splitlines() if line.startswith(str(model)))
        result = RunFolder(folder).read_result()
        assert f"{result.best.origin} (simulated)" in line and line.endswith(str(folder))
        assert result.search.measured == 2
        assert (folder / "report.html").exists()

    again = ovplace("optimize", *two, *SIMULATED, "-o", tmp_path, "--json")
    assert [found["result"] for found in json.loads(again.out)] == [
        json.loads(RunFolder(folder).result.read_text()) for folder in folders
    ]


def test_each_interval_has_its_own_level(capsys):
    continued = run_result(verdict=Verdict(Status.FASTER, "CPU", Interval(0.5, 0.4, 0.6, 0.99)))
    show_searches([ModelSearch("model.xml", Path("run"), found, "") for found in (run_result(), continued)], False)
    header, _, *lines = capsys.readouterr().out.splitlines()
    assert "%" not in header
    assert "[0.460, 0.500] (98 %)" in lines[0] and "[0.400, 0.600] (99 %)" in lines[1]


@pytest.mark.slow
def test_one_that_fails_stops_no_other(ovplace, tiny, tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text("<net")
    done = ovplace("optimize", broken, tiny, *SIMULATED, "-o", tmp_path / "runs")
    assert done.code == 1
    assert "Error: 1 of 2 searches failed; the same command tries those again" in done.err
    assert f"Failed: {broken}: " in done.out
    assert RunFolder(tmp_path / "runs" / "tiny").read_result().search.measured == 2


def test_a_report_that_could_not_be_written_is_told(tmp_path, monkeypatch):
    def ended(cells, task, jobs, done):
        for cell in cells:
            done(cell, "")

    monkeypatch.setattr("ovplace.experiments.many_models.execute", ended)
    folder = RunFolder(tmp_path / "run")
    folder.create()
    folder.write_result(run_result())  # which lacks all else that a report shows
    config = resolved(RunConfig(search=SearchConfig(model="m.xml", backend="simulate")))
    with pytest.warns(ReportWarning, match=r"the run is finished, but its report is not written: .*'ovplace report"):
        (found,) = search_models({folder.path: config}, 1)
    assert found.result == folder.read_result()


@pytest.mark.slow
def test_a_required_gain_is_required_of_each(ovplace, two, tmp_path):
    done = ovplace("optimize", *two, *SIMULATED, "-o", tmp_path, "--require-gain")
    assert done.code == 3
    assert f"no placement was shown to be faster for {two[0]}, {two[1]};" in done.err


def test_a_missing_model_is_refused_before_anything_is_searched(ovplace, tiny, tmp_path):
    done = ovplace("optimize", tiny, tmp_path / "missing.xml", *SIMULATED, "-o", tmp_path / "runs")
    assert done.code != 0
    assert "missing.xml' does not exist" in done.err
    assert not (tmp_path / "runs").exists()


def test_an_estimate_for_each(ovplace, two):
    done = ovplace("optimize", *two, *SIMULATED, "--dry-run")
    assert done.code == 0, done.err
    assert [line for line in done.out.splitlines() if line in map(str, two)] == list(map(str, two))


def test_estimates_in_json_are_a_list_where_there_are_several(ovplace, two):
    both, one = (ovplace("optimize", *models, *SIMULATED, "--dry-run", "--json") for models in (two, two[:1]))
    found = json.loads(one.out)
    assert [estimate["operations"] for estimate in json.loads(both.out)] == [found["operations"]] * 2


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["a.xml", "b.onnx"], ["a", "b"]),
        (["a.xml", "a.onnx"], ["a.xml", "a.onnx"]),
        (["x/a.xml", "x/A.xml"], None),
        (["x/a.xml", "y/a.xml"], ["x-a.xml", "y-a.xml"]),
        (["x/z/a.xml", "y/z/a.xml", "b.xml"], None),
    ],
)
def test_folders_are_named_as_shortly_as_tells_them_apart(models, names, tmp_path):
    folders = run_folders(models, tmp_path)
    assert len({str(folder).lower() for folder in folders}) == len(models)
    assert names is None or [folder.relative_to(tmp_path).as_posix() for folder in folders] == names


def test_a_model_is_named_once():
    with pytest.raises(UsageError, match=r"a\.xml' is named twice"):
        run_folders(["a.xml", "./a.xml"], Path("runs"))
