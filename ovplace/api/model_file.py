"""The model that a user names, a path or `demo`, which comes with ovplace; and where its run lies by default."""

from __future__ import annotations

from pathlib import Path

from ovplace import zoo
from ovplace.config.files import reachable
from ovplace.errors import ModelError
from ovplace.shipped import shipped

DEMO = "demo"


def find_model(text: str | Path) -> str:
    """Return the path of a model that exists.

    Raises:
        ModelError: there is no such file; the text says how to build it if it is a benchmark model.
        UsageError: nobody can look it up.
    """
    path = reachable(Path(text), "the model")
    is_other_folder = path.is_dir() and not (path / "saved_model.pb").exists()  # such as a run of the model
    if str(text) == DEMO and (is_other_folder or not path.exists()) and (demo := shipped("models/demo.xml")):
        return str(demo)
    if path.exists():
        return str(text)
    if path.stem == DEMO:
        raise ModelError(f"the model '{text}' does not exist; the one that comes with ovplace is called '{DEMO}'")
    if path.stem in zoo.names():
        raise ModelError(
            f"the model '{text}' does not exist; '{path.stem}' is a benchmark model, "
            f"build it with 'ovplace models build {path.stem} -o models'"
        )
    raise ModelError(f"the model '{text}' does not exist; check the path")


def default_run_folder(model: str | Path) -> Path:
    """Return the folder of a model's run where none is given; the current folder may be a model, too."""
    return Path("runs") / Path(model).absolute().stem
