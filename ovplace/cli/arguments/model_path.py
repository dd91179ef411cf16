"""The MODEL argument: a path, with advice for those who give a recipe's name."""

from __future__ import annotations

from pathlib import Path

from ovplace import zoo
from ovplace.errors import ModelError
from ovplace.shipped import shipped


def checked(text: str) -> str:
    """Return the path of a model that exists.

    Raises:
        ModelError: there is no such file; the text says how to build it if it is a benchmark model.
    """
    path = Path(text)
    if path.exists():
        return text
    if path.stem not in zoo.names():
        raise ModelError(f"the model '{text}' does not exist; check the path")
    if path.stem == "demo" and (demo := shipped("models/demo.xml")):
        raise ModelError(f"the model '{text}' does not exist; the demo lies at '{demo}'")
    raise ModelError(
        f"the model '{text}' does not exist; '{path.stem}' is a benchmark model, "
        f"build it with 'ovplace models build {path.stem} -o models'"
    )
