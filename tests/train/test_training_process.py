"""The process of a training imports nothing from the current folder."""

import pytest

from ovplace.errors import ConfigError
from ovplace.train.training_process import TrainingProcess


def test_modules_in_the_current_folder_are_not_executed(tmp_path, monkeypatch):
    (tmp_path / "socket.py").write_text("open('executed', 'w').close()\nraise ImportError\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with pytest.raises(ConfigError, match="no TOML"):
        TrainingProcess("no plan", tmp_path / "policy.npz").run()
    assert not (tmp_path / "executed").exists()
