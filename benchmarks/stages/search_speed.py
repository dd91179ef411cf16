"""Default searches that measure whole placements against searches that measure in stages.

Each model is searched both ways, one after the other, with the same limit of time for the whole call, with an empty
cache and then once more with the cache that the first run left. `a minute` is placements measured in a minute of
search; `compiling` and `outside` are shares of the whole call. The answer is the latency ratio to the best baseline in
the final comparison, by HETERO.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Row, interval_text
from benchmarks.script import UnavailableError
from benchmarks.sessions import own_cache, searched
from ovplace.core.result.run_result import RunResult
from ovplace.devices import emulated_gpu


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes, or model files.
        time_s: limit of each call.
        budget: placements, at most.
    """

    models: tuple[str, ...] = ("demo", "siren", "hyperbolic", "unet", "detector-head")
    time_s: float = 120.0
    budget: int = 1000


SHORT = Options(models=("siren",), time_s=6.0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model, each way, with an empty cache and with what it holds then."""
    if reason := emulated_gpu.why_unavailable():
        raise UnavailableError(reason)
    for model in options.models:
        for stages in (False, True):
            with own_cache() as folder:
                for cache in ("empty", "filled"):
                    result = searched(model, folder / cache, options.time_s, options.budget, stages=stages)
                    way = {"way": "stages" if stages else "whole", "cache": cache}
                    yield {"model": Path(model).stem, **way, **_row(result)}


def _row(result: RunResult) -> Row:
    seconds, search = result.search.seconds, result.search
    ratio = result.verdict.ratio
    return {
        "placements": search.measured,
        "a minute": f"{60 * search.measured / seconds.search:.1f}" if seconds.search else "-",
        "call s": f"{seconds.total:.0f}",
        "compiling": f"{seconds.compiling / seconds.total:.0%}",
        "outside": f"{search.outside_fraction.run:.0%}",
        "verdict": result.verdict.status,
        "answer": interval_text(ratio) if ratio else "-",
    }
