"""Names, sizes and estimates as users read them: what is emulated or simulated says so wherever it appears."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval
from ovplace.core.text.plural import plural
from ovplace.core.verdict import Status

UNCERTAIN = 10.0
"""Factor from an estimate to an end of its interval from which the ends are not shown: two rounds on a busy machine
gave [0.013, 6828.1] around 9.339, which looks like a defect."""


def label(result: RunResult, name: str) -> str:
    """Return a name in which devices that are emulated or simulated are marked.

    Args:
        result: says which devices are.
        name: name of a device, or of a baseline that names some.
    """
    emulated = {device.name: device.emulated for device in result.devices}
    return marked(name, emulated, bool(result.environment.simulated))


def marked(name: str, emulated: Mapping[str, bool], simulated: bool) -> str:
    """Return a name in which devices that are emulated or simulated are marked.

    Args:
        name: name of a device, or of a baseline that names some.
        emulated: for each device whether it is emulated.
        simulated: whether all of them are simulated.
    """
    for device, is_emulated in emulated.items():
        if word := "emulated" if is_emulated else "simulated" if simulated else "":
            name = re.sub(rf"(?<![\w./\\-]){re.escape(device)}(?![\w./\\-])", f"{device} ({word})", name)
    return name


def operations(ops_per_device: Mapping[str, int], shown: Callable[[str], str]) -> str:
    """Return where the operations of a placement run as text, such as `3 operations on GPU, 7 operations on CPU`.

    Args:
        ops_per_device: number of operations on each device; those without any are left out.
        shown: returns the name of a device as it is shown.
    """
    return ", ".join(
        f"{plural(count, 'operation')} on {shown(name)}" for name, count in ops_per_device.items() if count
    )


def size(n_bytes: float) -> str:
    """Return a number of bytes as text in B, KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"


def number(value: float | None) -> str:
    """Return milliseconds or a ratio as text, with as many digits as it deserves."""
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"


def short_ms(value: float) -> str:
    """Return milliseconds as text with three digits, and with all before the point: never as `1.23e+03`."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def mean_count(value: float | None) -> str:
    """Return a mean of counts as text."""
    if value is None:
        return "-"
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def error(value: float | None) -> str:
    """Return a relative output error as text."""
    return "-" if value is None else f"{value:.1g}"


def percent(fraction: float) -> str:
    """Return a fraction in percent as text; what is less than 1 % has a digit of its own, and is not called 0 %."""
    return f"{100 * fraction:.0f} %" if abs(fraction) >= 0.01 else f"{100 * fraction:.1g} %"


def ends(found: Interval) -> str:
    """Return the ends of an interval as text, or `[uncertain]` where they are far apart."""
    return "[uncertain]" if is_uncertain(found) else f"[{number(found.low)}, {number(found.high)}]"


def is_uncertain(found: Interval) -> bool:
    """Return whether an end of an interval is so far from the estimate that it says nothing."""
    return found.high > UNCERTAIN * found.value or found.low * UNCERTAIN < found.value


def why_not_another(status: Status, ratio: Interval) -> str:
    """Return why a baseline is the answer, in words.

    Args:
        status: of the verdict, which is not that a placement is faster.
        ratio: latency of the best other placement over the baseline's.
    """
    if status != Status.SAME:
        return f"the best other placement takes {percent(ratio.value - 1)} more time"
    if is_uncertain(ratio):
        return "too few rounds to tell whether the best other placement is faster"
    return "no placement found is significantly faster"


def other_ratios(result: RunResult) -> Iterator[str]:
    """Yield sentences on what else the placement was compared with: default precisions, and its cut on one device.

    Args:
        result: of a finished run.
    """
    if result.is_faster:
        for name, ratio in result.verdict.defaults.items():
            yield _against_default(result, name, ratio)
    if result.verdict.null_control:
        base = label(result, result.verdict.null_device or result.verdict.against)
        same = f"Sanity check: the same cut on one device, between {base} and an identical {base}"
        yield f"{same}: {ratio_text(result.verdict.null_control)}."


def _against_default(result: RunResult, name: str, ratio: Interval) -> str:
    base, error_found = name.removesuffix(" (default precision)"), result.baseline(name).max_rel_error
    precision = next((device.default_precision for device in result.devices if device.base == base), "")
    said = f" ({precision})" if precision else ""
    off = f", whose outputs are off by {error(error_found)}" if error_found else ""
    return f"Against {base} at its default precision{said}: {ratio_text(ratio)}{off}."


def ratio_text(ratio: Interval) -> str:
    """Return a latency ratio with its interval and the interval's level as text."""
    return f"ratio {number(ratio.value)} {interval_text(ratio)}"


def interval_text(found: Interval) -> str:
    """Return an interval and its level as text, such as `[0.460, 0.500] (98 %)`."""
    return f"{ends(found)} ({100 * found.level:.0f} %)"
