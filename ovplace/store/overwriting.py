"""The files of runs, which nothing else may be written over."""

from __future__ import annotations

from pathlib import Path

from ovplace.config.files import reachable
from ovplace.errors import UsageError
from ovplace.store.run_folder import RunFolder


def check_keeps_runs(target: Path, source: Path | None = None) -> None:
    """Check that writing a file or folder takes nothing from a run; its report may be replaced.

    Args:
        target: the file or folder to write.
        source: a folder whose files are kept though no run has begun there, such as an exported one; none by default.

    Raises:
        UsageError: `target` is a run folder, or one of the files of a run, or nobody can look it up.
    """
    path = reachable(target, "the output").resolve()
    if _is_kept(path, source):
        raise UsageError(f"'{target}' holds a run, whose answer would be lost; choose another folder with -o")
    if path in _files(RunFolder(path.parent)) and _is_kept(path.parent, source):
        raise UsageError(f"'{target}' belongs to a run, which would lose it; choose another file with -o")


def _is_kept(folder: Path, source: Path | None) -> bool:
    return RunFolder(folder).has_begun or (source is not None and folder == source.resolve())


def _files(run: RunFolder) -> list[Path]:
    models = (run.given_model, run.prepared_model)
    weights = [model.with_suffix(".bin") for model in models]
    texts = [run.config, run.placement, run.result, run.score, run.requests]
    return [*models, *weights, *texts, run.database, run.given_inputs, run.lock]
