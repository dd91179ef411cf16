"""The model that a user names, and where its run lies that was given no folder."""

from pathlib import Path

import pytest

from ovplace.api.model_file import default_run_folder, find_model


@pytest.mark.parametrize("model", ["net.xml", "models/net.onnx", "."])
def test_a_run_is_called_like_its_model(model, tmp_path, monkeypatch):
    here = tmp_path / "net"
    here.mkdir()
    monkeypatch.chdir(here)
    assert default_run_folder(model) == Path("runs") / "net"


def test_the_demo_is_found_beside_a_run_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = find_model("demo")
    Path("demo").mkdir()
    assert find_model("demo") == shipped
    Path("demo/saved_model.pb").touch()
    assert find_model("demo") == "demo"
