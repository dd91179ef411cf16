"""The files with the papers' values say what the presets `paper` say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ovplace.plugins import registry
from ovplace.session.configure import effective


@pytest.mark.parametrize(
    ("name", "file", "search"),
    [
        ("fc_grouper", "configs/placers/fc_grouper.toml", {}),
        ("hierarchical", "configs/placers/hierarchical.toml", {}),
        ("hsdag", "configs/paper/hsdag.toml", {"budget": 100 * 20, "coarsener": "none"}),
        ("hsdag", "configs/paper/hsdag-coarse.toml", {"budget": 100 * 20, "coarsener": "colocate"}),
        ("placeto", "configs/placers/placeto.toml", {}),
        ("seq2seq", "configs/placers/seq2seq.toml", {"coarsener": "colocate"}),
    ],
)
def test_the_file_is_the_preset(name, file, search):
    placer, run = registry.load("placers", name), effective(file, (), {})
    written = tomllib.loads(Path(file).read_text())["placer"]
    paper = placer.config({"preset": "paper"} | {key: written[key] for key in ("nodes",) if key in written})
    assert placer.config(dict(run.placer)) == paper
    assert {key: getattr(paper, key) for key in written if key != "preset"}.items() <= written.items()
    found = {key: getattr(run.search, key) for key in ("placer", *search)}
    assert found == {"placer": name, **search}


@pytest.mark.parametrize("name", ["fc_grouper", "hierarchical", "hsdag", "placeto", "seq2seq"])
def test_without_a_preset_defaults_are_meant(name):
    placer = registry.load("placers", name)
    assert placer.config({}) == placer.Config()
