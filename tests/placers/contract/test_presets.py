"""The files with the papers' values say what the presets `paper` say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ovplace.plugins import registry
from ovplace.session.configure import effective

PAPER = {"preset": "paper"}


@pytest.mark.parametrize(
    ("name", "file", "search"),
    [
        ("fc_grouper", "configs/placers/fc_grouper.toml", {"budget": 2000, "coarsener": "none"}),
        ("hierarchical", "configs/placers/hierarchical.toml", {"budget": 500 + 1, "coarsener": "none"}),
        ("hsdag", "configs/paper/hsdag.toml", {"budget": 100 * 20, "coarsener": "none"}),
        ("hsdag", "configs/paper/hsdag-coarse.toml", {"budget": 100 * 20, "coarsener": "colocate"}),
        ("placeto", "configs/placers/placeto.toml", {}),
        ("seq2seq", "configs/placers/seq2seq.toml", {"coarsener": "colocate"}),
    ],
)
def test_the_file_is_the_preset(name, file, search):
    placer, run = registry.load("placers", name), effective(file, (), {})
    written = tomllib.loads(Path(file).read_text())["placer"]
    paper = placer.config(PAPER | {key: written[key] for key in ("nodes",) if key in written})
    assert placer.config(dict(run.placer)) == paper
    assert {key: getattr(paper, key) for key in written if key != "preset"}.items() <= written.items()
    found = {key: getattr(run.search, key) for key in ("placer", *search)}
    assert found == {"placer": name, **search}


@pytest.mark.parametrize("name", ["fc_grouper", "seq2seq"])
def test_failures_are_ignored_in_the_second_half_of_the_budget(name):
    budget, paper = published(name)
    assert budget == 2 * paper.drop_failures_after * paper.samples


def test_the_budget_of_the_hierarchical_planner_includes_a_placement_that_is_not_drawn():
    budget, paper = published("hierarchical")
    assert budget == paper.draws * paper.samples + 1


def published(name):
    """Return the budget of the file of a placer, and the settings of its preset `paper`."""
    return effective(f"configs/placers/{name}.toml", (), {}).search.budget, registry.load("placers", name).config(PAPER)


@pytest.mark.parametrize("name", ["fc_grouper", "hierarchical", "hsdag", "placeto", "seq2seq"])
def test_without_a_preset_defaults_are_meant(name):
    placer = registry.load("placers", name)
    assert placer.config({}) == placer.Config()
