"""The history of a search as a picture."""

from __future__ import annotations

from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING

from ovplace.core.result.labels import label
from ovplace.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

    from ovplace.api.run import Run


def plot_history(run: Run, axes: Axes | None = None) -> Axes:
    """Draw the ratio of each trial to the best single device, by origin, with the best so far.

    Args:
        run: a finished run.
        axes: to draw into; new ones by default.

    Raises:
        UsageError: matplotlib is not installed, or `axes` are something else.
    """
    axes = _new_axes() if axes is None else axes
    if not hasattr(axes, "step"):
        raise UsageError(f"axes must be matplotlib axes, got {type(axes).__name__}; leave them out for new ones")
    reference = label(run, run.baselines[0].name)
    for origin in dict.fromkeys(trial.origin for trial in run.trials):
        ran = [trial for trial in run.trials if trial.origin == origin and isfinite(trial.ratio)]
        axes.plot([t.number for t in ran], [t.ratio for t in ran], ".", label=origin)
    best = list(accumulate((trial.ratio for trial in run.trials), min))
    axes.step([t.number for t in run.trials], best, where="post", color="black", label="best so far")
    failed = [trial.number for trial in run.trials if not trial.measurement.ok]
    if failed:
        axes.plot(failed, [1.0] * len(failed), "x", color="tab:red", label="failed")
    axes.axhline(1.0, color="grey", linestyle="--", label=reference)
    axes.set(xlabel="trial", ylabel=f"latency over that of {reference}")
    axes.xaxis.set_major_locator(_whole_numbers())
    axes.legend()
    return axes


def _whole_numbers() -> Locator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True)


def _new_axes() -> Axes:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("a plot needs matplotlib; pip install 'ovplace[notebook]'") from error
    from matplotlib import pyplot

    figure: Figure = pyplot.figure(layout="constrained")
    return figure.add_subplot()
