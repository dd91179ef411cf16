"""Trainings on a fleet of processes."""

import json
import signal
import subprocess

import pytest

from tests.fleet.processes import PROGRAM, running_fleet
from tests.train.test_seeds import SMALL

pytestmark = pytest.mark.slow


def test_a_fleet_trains_what_this_machine_trains_though_a_worker_is_lost(certificates, tmp_path, monkeypatch):
    monkeypatch.setenv("OVPLACE_CERTS", str(certificates.folder))
    config = tmp_path / "small.toml"
    config.write_text(SMALL)
    command = [*PROGRAM, "train", str(config), "--seeds", "3", "--set", "train.updates=200", "--json"]
    with running_fleet(tmp_path, certificates, "killed", "stays") as fleet:
        there = subprocess.Popen(
            [*command, "-o", str(tmp_path / "there.npz"), "--cluster", fleet.address],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        with pytest.raises(subprocess.TimeoutExpired):
            there.communicate(timeout=12)
        fleet.send("killed", signal.SIGKILL)
        answer, said = there.communicate(timeout=300)
        assert there.returncode == 0, said
    here = subprocess.run([*command, "-o", str(tmp_path / "here.npz")], capture_output=True, text=True, check=True)
    assert [json.loads(answer)[key] for key in ("seed", "seeds")] == [
        json.loads(here.stdout)[key] for key in ("seed", "seeds")
    ]
    assert (tmp_path / "there.npz").read_bytes() == (tmp_path / "here.npz").read_bytes()
