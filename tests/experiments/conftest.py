"""A small model, a quick ablation, and what it left."""

from dataclasses import dataclass
from pathlib import Path

import openvino as ov
import pytest

from ovplace import zoo
from ovplace.experiments.ablation import ablate
from ovplace.experiments.grid import read_grid

CONFIG = """
[ablation]
models = ["{model}"]
machines = ["i9-12900k+flex170"]
seeds = [3, 4]

[base]
search.placer = "random"
search.budget = 4
measure.min_time_ms = 0.0
comparison = {{rounds = 2, blocks = 3, finalists = 1, min_time_ms = 0.0}}

[variants]
cuts.search.placer = "cut"
"""


@dataclass(frozen=True)
class Case:
    file: Path
    model: Path
    text: str

    def write(self, folder, *changes):
        """Write the quick ablation with texts replaced, as pairs; return the file."""
        text = self.text
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = folder / "changed.toml"
        path.write_text(text)
        return path


@pytest.fixture(scope="session")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ablation")
    model = folder / "small.xml"
    recipe = zoo.recipe("detector-head")
    ov.save_model(recipe.build(recipe.SMALL), model, compress_to_fp16=False)
    text = CONFIG.format(model=model)
    (folder / "quick.toml").write_text(text)
    return Case(folder / "quick.toml", model, text)


@pytest.fixture(scope="session")
def finished(case, tmp_path_factory):
    """Return the grid of the quick ablation, run, its data, and the events."""
    told = []
    ablation = read_grid(case.file, tmp_path_factory.mktemp("out"))
    return ablation, ablate(ablation, 2, told.append), told
