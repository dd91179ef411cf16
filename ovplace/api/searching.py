"""`ovplace.optimize` and `ovplace.bound`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ovplace.api.given_inputs import with_saved_inputs
from ovplace.api.model_file import default_run_folder, find_model
from ovplace.api.options import SearchOptions, search_fields, setting_texts
from ovplace.api.python_texts import with_python_texts
from ovplace.api.run import Run
from ovplace.config.boolean import given_bool
from ovplace.config.duration import seconds
from ovplace.config.files import given_path
from ovplace.config.schema import RIGOROUS_ROUNDS, RunConfig
from ovplace.errors import NotReachedError, ReportWarning, UsageError
from ovplace.progress import showing
from ovplace.search.run import run
from ovplace.session.configure import effective
from ovplace.session.events import Listener, silent
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    import openvino as ov

    from ovplace.commands.optimality_gap import OptimalityGap


@with_python_texts
def optimize(
    model: str | Path | ov.Model,
    folder: str | Path | None = None,
    *,
    rigorous: bool = False,
    settings: str | Sequence[str] = (),
    config_file: str | Path | None = None,
    progress: bool = True,
    listener: Listener | None = None,
    **options: Unpack[SearchOptions],
) -> Run:
    """Find which device should run each operation of `model`, and write the answer into `folder`.

    Args:
        model: a file of any format OpenVINO reads, or an in-memory model, which is saved into `folder` first; `demo`
            comes with ovplace. To load an answer on the emulated GPU in the same process, call
            `ovplace.enable_emulated_gpu()` before the first import of openvino.
        folder: the run folder; by default `runs/<model name>`. It has to be given for an in-memory model. If the folder
            holds this run already, the run is continued.
        rigorous: use up to twenty fresh processes in the final comparison, for a narrower interval.
        settings: `section.key=value` strings, as `--set` takes them.
        config_file: a TOML file, or the name of one that comes with ovplace.
        progress: show a progress bar, where there is a terminal or a notebook.
        listener: a function that is called at each step (`Progress`), in place of the progress bar.
        **options: what to search and for how long: `device=["GPU", "CPU"]`, `shape=[1, 3, 224, 224]`, `time="2m"`,
            `budget=100`, ... (`SearchOptions`).

    Returns:
        The finished run, which `ovplace.open_run` opens again later.

    Raises:
        OvplaceError: the search is not possible; the text says why and what to do. `NotReachedError`, which carries the
            run, means that `require_gain` was set and no placement was shown to be faster than every baseline.

    Warns:
        ReportWarning: the run is finished, and its report could not be written.

    Example:
        >>> import ovplace
        >>> run = ovplace.optimize("models/demo.xml", "runs/demo", machine="i9-12900k+flex170", budget=5)
        >>> run.verdict.status.value, run.verdict.against
        ('baseline', 'CPU')
        >>> run.best.ops_per_device
        {'GPU': 0, 'CPU': 146}
    """
    given, settings = search_fields(options, SearchOptions.__annotations__), setting_texts(settings)
    source, target = _source_and_target(model, folder)
    given = with_saved_inputs(given, model, target)
    if given_bool(rigorous, "rigorous"):
        settings = (*settings, f"comparison.rounds={RIGOROUS_ROUNDS}")
    config = effective(config_file, settings, {"model": source, **given}, target)
    _emulate_if_asked(config)
    with showing(progress, listener) as shown:
        return search(config, target, shown)


def search(config: RunConfig, folder: Path, listener: Listener = silent, command: str = "") -> Run:
    """Run, or continue, a search, and check that it reached what its configuration requires.

    Args:
        config: the effective configuration.
        folder: the run folder.
        listener: is called with each step.
        command: the command line to note in the result.

    Raises:
        OvplaceError: as `optimize` does.
    """
    found = Run.of(run(config, folder, listener, command))
    _leave_report(folder)
    if config.search.require_gain and not found.is_faster:
        raise NotReachedError(
            f"no placement was shown to be faster than {found.label(found.verdict.against)}: the verdict is "
            f"'{found.verdict.status}', and the answer in '{folder}' is {found.label(found.best.origin)}; try a larger "
            "--budget or other devices",
            found,
        )
    return found


def _leave_report(folder: Path) -> None:
    """Write the report of a run unless it has it; where that fails, warn, as the run is finished all the same."""
    from ovplace.report.write import try_report

    if problem := try_report(folder):
        warnings.warn(problem, ReportWarning, stacklevel=5)  # past `optimize` and its decorator


def _emulate_if_asked(config: RunConfig) -> None:
    """Enable the emulated GPU before openvino is imported here, so that `run.load()` works in this process, too."""
    from ovplace.devices.discover import emulate_where_no_gpu

    backend, device = config.plugins.backend, config.search.device
    simulated = backend.own_devices() is not None
    if not simulated and config.search.emulate_gpu is not False and (not device or "GPU" in device):
        emulate_where_no_gpu()


def _source_and_target(model: str | Path | ov.Model, folder: str | Path | None) -> tuple[str, Path]:
    """Return the model file and the run folder."""
    target = given_path(folder, "the run folder", "'runs/mine'") if folder else None
    if isinstance(model, str | Path):
        return find_model(model), target or default_run_folder(model)
    import openvino as ov

    from ovplace.ir.saving import save_in_memory_model

    if target is None and isinstance(model, ov.Model):
        raise UsageError("an in-memory model needs a run folder; give one: optimize(model, 'runs/mine')")
    target = target or Path("runs")  # not used: what is no model is refused
    return str(save_in_memory_model(model, target, begun=RunFolder(target).has_begun)), target


@with_python_texts
def bound(
    folder: str | Path,
    *,
    time_limit_s: str | float = 60.0,
    input: str | Path = "",
    progress: bool = True,
    listener: Listener | None = None,
) -> OptimalityGap:
    """Return how far the answer of a finished run is from the optimum of the cost model.

    Args:
        folder: the run folder.
        time_limit_s: time limit of the solver: seconds, or a string such as `2m`; if it is reached, the gap is larger
            than 0.
        input: `.npz` file with one array for each input, on which groups are measured if the run has no costs; the
            inputs of the run by default.
        progress: show a progress bar, where there is a terminal or a notebook.
        listener: a function that is called at each step (`Progress`), in place of the progress bar.

    Returns:
        The answer's latency under the cost model, fitted to the run's measurements; the optimum with its lower bound
        and placement; the solvers' certificates; how well the model fits.

    Raises:
        OvplaceError: there is no finished run, what it lacks cannot be measured on this machine, or an argument is not
            usable.

    Example:
        >>> import ovplace
        >>> run = ovplace.optimize("models/demo.xml", "runs/demo", machine="i9-12900k+flex170", budget=5)
        >>> gap = ovplace.bound(run.folder)
        >>> f"{gap.best.above_optimum:.1%} above the optimum of the cost model"
        '0.0% above the optimum of the cost model'
    """
    from ovplace.commands.optimality_gap import optimality_gap

    path, limit_s = given_path(folder, "the run folder", "run.folder"), seconds(time_limit_s)
    with showing(progress, listener) as shown:
        return optimality_gap(path, limit_s, shown, str(input))
