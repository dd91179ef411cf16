"""Families of generated models: recipes whose option `index` alone decides structure, sizes and weights.

Every index is a model; those from 0 to `SIZE` - 1 are the family that policies are trained and judged on.
"""

from __future__ import annotations

import openvino as ov

from ovplace import zoo
from ovplace.errors import UsageError

SIZE = 32

_NAMES = ("attention", "cells", "recurrent")


def family_names() -> list[str]:
    """Return the names of the families, importing none."""
    return list(_NAMES)


def build_member(name: str, index: int) -> ov.Model:
    """Return a model of a family.

    Args:
        name: the family.
        index: which of its models, from 0 on.

    Raises:
        UsageError: there is no such family, or the index is negative.
    """
    if name not in _NAMES:
        raise UsageError(f"unknown family '{name}'; there are: {', '.join(_NAMES)}")
    recipe = zoo.recipe(name)
    try:
        config = recipe.Config(index=index)
    except ValueError as error:
        raise UsageError(f"model '{index}' of the family '{name}' cannot be built: {error}") from error
    model: ov.Model = recipe.build(config)
    return model
