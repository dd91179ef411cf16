"""Where the run of a model lies that was given no folder."""

from pathlib import Path

import pytest

from ovplace.api.model_file import default_run_folder


@pytest.mark.parametrize("model", ["net.xml", "models/net.onnx", "."])
def test_a_run_is_called_like_its_model(model, tmp_path, monkeypatch):
    here = tmp_path / "net"
    here.mkdir()
    monkeypatch.chdir(here)
    assert default_run_folder(model) == Path("runs") / "net"
