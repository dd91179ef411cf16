"""Models that cannot be built or written, and what the error says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ovplace import zoo
from ovplace.errors import ModelError, UsageError
from ovplace.zoo import bert_base, demo, siren


def test_a_file_that_cannot_be_written_is_named_and_no_position_in_the_source_of_openvino(tmp_path):
    (tmp_path / "siren.xml").mkdir()
    with pytest.raises(ModelError, match=r"Can't open xml file.* MiB are free there.*; choose another folder") as seen:
        zoo.save_recipe("siren", siren.SMALL, tmp_path / "siren.xml")
    assert "src/core" not in str(seen.value)


@pytest.mark.parametrize(
    ("raised", "said"), [(MemoryError("Unable to allocate 8 TiB"), "Unable to allocate 8 TiB"), (ValueError(), "Value")]
)
def test_the_options_of_a_model_that_cannot_be_built_are_named(monkeypatch, tmp_path, raised, said):
    def fail(_):
        raise raised

    monkeypatch.setattr(siren, "build", fail)
    with pytest.raises(UsageError, match=f"'siren' cannot be built with width=9.*: {said}.*; choose other values"):
        zoo.save_recipe("siren", replace(siren.SMALL, width=9), tmp_path / "siren.xml")


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("demo", demo.Config(heads=5), "5 heads do not divide 48 channels"),
        ("bert-base", replace(bert_base.SMALL, tokens=33), "33 tokens have no place in 32 positions"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path, name, config, said):
    with pytest.raises(UsageError, match=f"'{name}' cannot be built with .*: {said}; choose other values"):
        zoo.save_recipe(name, config, tmp_path / "model.xml")
