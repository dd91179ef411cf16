"""Several models on one fleet, searched at the same time."""

import subprocess

import openvino as ov
import pytest

from ovplace.core.measurement import MACHINE
from ovplace.store.run_folder import RunFolder
from ovplace.testing.models import TINY
from tests.fleet.processes import PROGRAM, running_fleet

OPTIONS = (
    *("--machine", "i9-12900k+flex170", "--placer", "random", "--budget", "20", "--jobs", "2"),
    *("--set", "comparison.rounds=2", "--set", "comparison.race=0"),
)


@pytest.mark.slow
def test_two_models_are_searched_at_once_and_the_same_command_shows_them(certificates, tmp_path, monkeypatch):
    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))
    models = [tmp_path / f"{name}.xml" for name in ("residual", "several_outputs")]
    for model in models:
        ov.save_model(TINY[model.stem](), model, compress_to_fp16=False)
    with running_fleet(tmp_path, certificates, "a", "b") as fleet:
        command = [*PROGRAM, "optimize", *models, *OPTIONS, "--cluster", fleet.address, "-o", tmp_path / "runs"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.stdout == done.stdout
    for model in models:
        folder = RunFolder(tmp_path / "runs" / model.stem)
        assert folder.read_result().search.trials > 0
        store = folder.open_store()
        assert {trial.measurement.facts[MACHINE] for trial in store.trials()} <= {"a", "b"}
        store.close()
