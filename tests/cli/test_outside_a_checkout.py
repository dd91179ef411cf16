"""What help and documents name exists also where ovplace is installed and the working folder is empty."""

from __future__ import annotations

import json

import pytest

from ovplace.config.files import run_configs
from ovplace.session.configure import effective


def test_demo_is_a_model(ovplace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = ovplace("inspect", "demo", "--json")
    assert done.code == 0
    assert json.loads(done.out)["operations"] > 100
    (tmp_path / "models").mkdir()
    assert "the one that comes with ovplace is called 'demo'" in ovplace("inspect", "models/demo.xml").err


@pytest.mark.parametrize("name", run_configs())
def test_each_configuration_that_is_listed_is_one_of_a_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert effective(name) == effective(f"configs/{name}.toml")
