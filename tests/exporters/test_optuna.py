"""Optuna loads the study and its dashboard serves it."""

import json
import math
import shutil
import sys
import tempfile
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import openvino as ov
import pytest

import ovplace
from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.errors import OvplaceError, PlacementError
from ovplace.exporters.optuna import Config, Exporter
from ovplace.store.run_folder import RunFolder
from tests.exporters.conftest import NASTY

MODEL = Path(__file__).parents[2] / "models" / "demo.xml"

optuna = pytest.importorskip("optuna")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("optuna") / NASTY.replace("/", "-")
    ovplace.optimize(MODEL, folder, machine="i9-12900k+flex170", budget=12, placer="cut")
    return folder


@pytest.fixture(scope="module")
def study_file(run, tmp_path_factory):
    target = tmp_path_factory.mktemp("study") / "study.db"
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    assert Exporter(Config()).write(run, target) == [target]
    assert optuna.logging.get_verbosity() == optuna.logging.WARNING
    return target


@contextmanager
def loaded(path):
    storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    yield optuna.load_study(study_name=None, storage=storage)
    storage.engine.dispose()


def trials_of(run):
    with closing(RunFolder(run).open_store()) as store:
        return store.trials()


def test_optuna_loads_every_trial(run, study_file):
    with loaded(study_file) as study:
        trials = trials_of(run)
        assert study.study_name == run.name
        assert [trial.value for trial in study.trials] == [t.ratio if math.isfinite(t.ratio) else None for t in trials]
        best = min(trials, key=lambda trial: trial.ratio)
        assert study.best_trial.number == best.number
        assert study.best_trial.user_attrs["latency_ms"] == pytest.approx(best.measurement.median_ms)
        assert study.user_attrs == {"model": "demo.xml", "devices": ["GPU (simulated)", "CPU (simulated)"]}


def test_parameters_are_operations_on_devices(run, study_file):
    with loaded(study_file) as study:
        names = json.loads((run / "placement.json").read_text(encoding="utf-8"))
        assert len(study.trials[0].params) > 1
        assert all(len({trial.params[name] for trial in study.trials}) > 1 for name in study.trials[0].params)
        assert all(set(trial.params) <= set(names) for trial in study.trials)
        placed = trials_of(run)
        graph = [op.get_friendly_name() for op in ov.Core().read_model(run / "placed.xml").get_ordered_ops()]
        for trial, stored in zip(study.trials, placed, strict=True):
            table = dict(zip(graph, (stored.placement.devices[d] for d in stored.placement.device_of), strict=True))
            assert trial.params == {name: f"{table[name]} (simulated)" for name in trial.params}


def test_the_dashboard_serves_it(run, study_file):
    dashboard = pytest.importorskip("optuna_dashboard")
    app = dashboard.wsgi(f"sqlite:///{study_file}")
    studies = get(app, "/api/studies")["study_summaries"]
    assert [study["study_name"] for study in studies] == [run.name]
    detail = get(app, f"/api/studies/{studies[0]['study_id']}")
    assert len(detail["trials"]) == 12


def get(app, path):
    """Return the answer of a WSGI application to GET `path`."""
    status = []
    environment = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "wsgi.errors": None, "SERVER_NAME": "x"}
    body = b"".join(app(environment, lambda code, _headers, *_: status.append(code)))
    assert status == ["200 OK"], body
    return json.loads(body)


def test_a_study_needs_no_temporary_files(run, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    Exporter(Config()).write(run, tmp_path / "study.db")
    assert [path.name for path in tmp_path.iterdir()] == ["study.db"]


def test_an_exported_folder_has_no_trials(nasty, tmp_path):
    with pytest.raises(PlacementError, match="no finished run"):
        Exporter(Config()).write(nasty, tmp_path / "study.db")


def test_a_failed_trial_keeps_its_error(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    failed = Measurement.failed(ErrorKind.CRASH, "gone")
    with closing(RunFolder(folder).open_store()) as store:
        placement = store.trials()[0].placement
        store.add_trial("failed", Trial(14, placement, failed, math.inf, "cut", cached=False))  # 12 and 13 are missing
    Exporter(Config()).write(folder, tmp_path / "study.db")
    with loaded(tmp_path / "study.db") as study:
        last = study.trials[-1]
    assert (last.state, last.value) == (optuna.trial.TrialState.FAIL, None)
    assert last.user_attrs == {"trial": 14, "origin": "cut", "submodels": [], "error": f"{failed.error}: gone"}


def test_trials_may_be_on_a_device_that_a_later_call_did_not_have(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    with closing(RunFolder(folder).open_store()) as store:
        trial = store.trials()[2]
        moved = Placement(trial.placement.device_of, ("NPU", "GPU"))
        store.add_trial("moved", replace(trial, number=12, placement=moved))
    Exporter(Config()).write(folder, tmp_path / "study.db")
    with loaded(tmp_path / "study.db") as study:
        assert "NPU" in study.trials[-1].params.values()


def test_without_optuna_the_error_says_what_to_install(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(OvplaceError, match=r"pip install 'ovplace\[optuna\]'"):
        Exporter(Config()).write(run, tmp_path / "study.db")
    assert not list(tmp_path.iterdir())
