"""Recipes as models that are prepared for placing, as a run prepares them."""

from __future__ import annotations

from pathlib import Path

from ovplace import zoo
from ovplace.ir.prepare.prepare import prepare


def prepared_recipe(name: str, folder: Path, config: object = None, *, fp16: bool = False) -> Path:
    """Build a recipe and prepare the model; return its file.

    Args:
        name: name of the recipe.
        folder: where the files go.
        config: options of the recipe; None for its defaults.
        fp16: whether the weights are in f16.
    """
    source, target = folder / f"{name}.source.xml", folder / f"{name}.xml"
    zoo.save_recipe(name, config or zoo.recipe(name).Config(), source, fp16)
    prepare(source, target)
    return target
