"""The Python interface: `optimize`, `load` and `bound`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovplace.core.result import RunResult
from ovplace.errors import NotReachedError, UsageError
from ovplace.ir.load import load
from ovplace.search.run import run
from ovplace.session.configure import effective
from ovplace.session.events import Listener, silent
from ovplace.store.run_folder import RunFolder

if TYPE_CHECKING:
    import openvino as ov

    from ovplace.commands.optimality_gap import OptimalityGap

__all__ = ["RunResult", "bound", "load", "optimize"]


def optimize(
    model: str | Path | ov.Model,
    folder: str | Path | None = None,
    *,
    settings: Sequence[str] = (),
    config_file: str | Path | None = None,
    listener: Listener = silent,
    command: str = "",
    **search: Any,
) -> RunResult:
    """Find on which device each operation of `model` should run, and leave the answer in `folder`.

    Args:
        model: a model of any format OpenVINO reads, or one in memory, which is saved into `folder` first. A process
            that has imported openvino has no emulated GPU unless `ovplace.enable_emulated_gpu()` was called before.
        folder: the run folder; `runs/<model name>` by default, but a model in memory needs one. A folder that holds
            this run is continued.
        settings: `section.key=value` texts, as `--set` takes them.
        config_file: a TOML file.
        listener: is called with each step.
        command: the command line to note in the result.
        **search: fields of `SearchConfig`: `device="GPU,CPU"`, `budget=100`, `placer="cut"`, ...

    Returns:
        The result, which `folder` holds as `result.json`.

    Raises:
        OvplaceError: with its own text and exit code; `NotReachedError`, which carries the result, where
            `require_gain` was set and no placement is faster than every baseline.

    Example:
        >>> import ovplace
        >>> result = ovplace.optimize("models/demo.xml", "runs/demo", machine="i9-12900k+flex170", budget=5)
        >>> result.verdict.status.value, result.verdict.against
        ('baseline', 'CPU')
        >>> result.best.ops_per_device
        {'GPU': 0, 'CPU': 146}
    """
    source, target = _source_and_target(model, folder)
    config = effective(config_file, settings, {"model": source, **search}, target)
    result = run(config, target, listener, command)
    if config.search.require_gain and not result.is_faster:
        raise NotReachedError(
            f"no placement is faster than {result.verdict.against} ({result.verdict.status}); "
            f"the answer in '{target}' is {result.best.origin}; try a larger --budget or other devices",
            result,
        )
    return result


def _source_and_target(model: str | Path | ov.Model, folder: str | Path | None) -> tuple[str, Path]:
    """Return the model file and the run folder."""
    if isinstance(model, str | Path):
        return str(model), Path(folder) if folder else Path("runs") / Path(model).stem
    from ovplace.ir.saving import save_in_memory_model

    if not folder:
        raise UsageError("a model in memory needs a run folder; give one: optimize(model, 'runs/mine')")
    target = Path(folder)
    return str(save_in_memory_model(model, target, begun=RunFolder(target).has_begun)), target


def bound(folder: str | Path, *, time_limit_s: float = 60.0, listener: Listener = silent) -> OptimalityGap:
    """Return how far the answer of a finished run is from the optimum of the cost model.

    Args:
        folder: the run folder.
        time_limit_s: time limit in seconds of the solver, which then says how near it came.
        listener: is called with each step.

    Returns:
        The answer's latency under the cost model, fitted to the run's measurements; the optimum with its lower bound
        and placement; the solvers' certificates; how well the model fits.

    Raises:
        OvplaceError: there is no finished run, or what it lacks cannot be measured on this machine.

    Example:
        >>> import ovplace
        >>> result = ovplace.optimize("models/demo.xml", "runs/demo", machine="i9-12900k+flex170", budget=5)
        >>> gap = ovplace.bound(result.folder)
        >>> f"{gap.best.above_optimum:.1%} above the optimum of the cost model"
        '0.0% above the optimum of the cost model'
    """
    from ovplace.commands.optimality_gap import optimality_gap

    return optimality_gap(Path(folder), time_limit_s, listener)
