"""Prepared models."""

from __future__ import annotations

import openvino as ov
import pytest

from ovplace.ir.prepare.prepare import prepare


@pytest.fixture
def saved(tmp_path):
    """Return a function that prepares a model and returns its path."""

    def save(model, name="model"):
        source = tmp_path / f"{name}-source.xml"
        ov.save_model(model, source, compress_to_fp16=False)
        prepare(source, tmp_path / f"{name}.xml")
        return str(tmp_path / f"{name}.xml")

    return save
