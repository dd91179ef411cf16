"""Running the answer of a run beside its baselines as benchmark_app does."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path

from ovplace.commands.benchmark import Benchmarked
from ovplace.commands.benchmark import benchmark as benchmark_all
from ovplace.config.duration import seconds
from ovplace.errors import UsageError
from ovplace.ir.timing.requests import Load
from ovplace.progress import showing


def benchmark_run(
    folder: Path, time: str | float, api: str, requests: int, progress: bool, input: str | Path = ""
) -> list[Benchmarked]:
    """Run each competing baseline of a run, and its placement, one after another.

    Args:
        folder: a finished run.
        time: time of each candidate: seconds, or a string such as `10s`.
        api: `sync`, or `async` for several inference requests in flight.
        requests: inference requests in flight with `async`; 0 for the number that the compiled model asks for.
        progress: show a progress bar, where there is a terminal or a notebook.
        input: `.npz` file with one array for each input; the inputs of the run by default.

    Raises:
        UsageError: the run is simulated, the inputs are not there, or an argument is not usable.
    """
    if api not in ("sync", "async"):
        raise UsageError(f"api must be 'sync' or 'async', got '{api}'")
    load = Load(api=api, n_requests=_whole(requests), time_s=seconds(time))
    with showing(progress) as listener:
        return benchmark_all(folder, load, listener, str(input))


def _whole(requests: object) -> int:
    """Return a number of requests, which may be one of numpy."""
    if isinstance(requests, Integral) and int(requests) >= 0:
        return int(requests)
    raise UsageError(f"requests must be a whole number, 0 or more, got {requests!r}; 0 leaves it to the compiled model")
