"""A blob is written whole, or not at all."""

import pytest

from ovplace.errors import ModelError
from ovplace.exporters import blob


class NoExport:
    def export_model(self):
        raise RuntimeError(
            "Exception from src/inference/src/cpp/compiled_model.cpp:90:\nnot implemented by this plugin\n"
        )


def test_a_plugin_that_cannot_export_is_one_clear_error(monkeypatch, tmp_path):
    monkeypatch.setattr(blob, "load", lambda folder: NoExport())
    with pytest.raises(ModelError, match="cannot export compiled models: not implemented by this plugin"):
        blob.Exporter(blob.Config()).write(tmp_path, tmp_path / "placed.blob")
    assert not list(tmp_path.iterdir())
