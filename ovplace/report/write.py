"""Writing the report of a run, and of several."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from ovplace.atomic import atomic_write, delete_abandoned
from ovplace.errors import ReportWarning, StoreError
from ovplace.report.ablation import is_ablation, read_ablation
from ovplace.report.collect import collect
from ovplace.report.compare import compare
from ovplace.report.page import ablation_html, comparison_html, html
from ovplace.session.run_files import check_keeps_model
from ovplace.store.overwriting import check_keeps_runs
from ovplace.store.run_folder import RunFolder


def try_report(folder: Path) -> str:
    """Write the report of a finished run into its folder unless it is there; return why that failed, empty if not.

    Nothing is raised: the run is finished and its answer is there, with or without a page that shows it.
    """
    try:
        if not _is_written(RunFolder(folder)):
            write_report(folder)
    except Exception as error:
        again = f"ovplace report {RunFolder(folder).typed}"
        return f"the run is finished, but its report is not written: {error}; '{again}' tries again"
    return ""


def write_report(folder: Path, target: Path | None = None) -> Path:
    """Write the report of a finished run; of an ablation, with those of its finished runs, to which it links.

    Args:
        folder: of the run, or of the ablation.
        target: the HTML file; `report.html` in the folder by default.

    Returns:
        The file written.

    Raises:
        PlacementError: there is no finished run.
        UsageError: `target` is another of the files of a run, or the model of this one.
        StoreError: the run's files are damaged, or the report cannot be written.

    Warns:
        ReportWarning: the report of a run of the ablation could not be written, so that its link leads nowhere.
    """
    target = target or RunFolder(folder).report
    if not is_ablation(folder):
        return _written(target, html(collect(folder)), [folder])
    ablation = read_ablation(folder)
    runs = [folder / run for place in ablation.places for row in place.variants for _, run in row.pages]
    for run in runs:
        if problem := try_report(run):
            warnings.warn(problem, ReportWarning, stacklevel=2)
    return _written(target, ablation_html(ablation, os.path.relpath(folder, target.parent)))


def _is_written(run: RunFolder) -> bool:
    """Return whether a run's report is there, no older than its result and not cut off."""
    if not run.report.exists() or run.report.stat().st_mtime < run.result.stat().st_mtime:
        return False
    return run.report.read_bytes().rstrip().endswith(b"</html>")


def write_comparison(folders: Sequence[Path], target: Path) -> Path:
    """Write a page that compares finished runs.

    Args:
        folders: the run folders.
        target: the HTML file.

    Returns:
        The file written.

    Raises:
        PlacementError: a folder holds no finished run.
        UsageError: `target` is one of the files of a run, or the model of one of these.
        StoreError: a run's files are damaged, or the page cannot be written.
    """
    return _written(target, comparison_html(compare(folders)), folders)


def _written(target: Path, page: str, runs: Sequence[Path] = ()) -> Path:
    """Write a page, unless that takes something from a run, or the model from one of those that it is about."""
    try:
        check_keeps_runs(target)
        for run in runs:
            check_keeps_model(target, run)
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, page)
        delete_abandoned(target.parent, (target.name,))  # what a report that was killed had made of it
    except OSError as error:
        raise StoreError(f"cannot write '{target}': {error.strerror}; choose another place with -o") from error
    return target
