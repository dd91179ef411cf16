"""How long a search should time a placement: spread of the ratio, and time of a request, by inferences and blocks.

Placements of a search are visited again and again; at each visit, all specifications measure the placement twice, in
stages and in turns with the CPU. `in a visit` and `between visits`: standard deviation of the logarithm of the ratio
between the two requests of a visit, about a second apart, and between the first requests of different visits, with all
other placements between them; root mean squares over the placements. `off by`: mean ratio over that of the first row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from benchmarks.report import Row
from benchmarks.script import UnavailableError
from benchmarks.sessions import measured_session, own_cache, searched
from ovplace.core.measurement import Candidate, MeasureSpec, rotated
from ovplace.core.placement import Placement
from ovplace.devices import emulated_gpu
from ovplace.graphs.op_graph import FloatArray
from ovplace.search.staging import in_stages
from ovplace.session.measurer import Measurer, latency_ratio
from ovplace.store.run_folder import RunFolder

DEFAULT = MeasureSpec()

SPECS = (
    DEFAULT,
    replace(DEFAULT, blocks=2),
    replace(DEFAULT, blocks=2, min_time_ms=10.0),
    replace(DEFAULT.of_trial(), warmup=1),
    DEFAULT.of_trial(),
    replace(DEFAULT.of_trial(), repeats=2),
    replace(DEFAULT.of_trial(), blocks=1),
)

MOST = 1.2
"""Highest ratio of a placement."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        model: recipe, or model file.
        placements: that are measured, of those faster than `MOST`.
        visits: how often each is measured, with all others between two visits.
        search_s: limit in seconds of the search that they are of.
    """

    model: str = "demo"
    placements: int = 16
    visits: int = 5
    search_s: float = 60.0


SHORT = Options(model="siren", placements=2, visits=2, search_s=10.0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each specification."""
    if reason := emulated_gpu.why_unavailable():
        raise UnavailableError(reason)
    with own_cache() as folder:
        searched(options.model, folder / "run", options.search_s, None, stages=True)
        with closing(RunFolder(folder / "run").open_store()) as store:
            mixed = [trial for trial in store.trials() if trial.measurement.ok and not trial.placement.is_uniform]
        fast = [trial.placement for trial in mixed if trial.ratio < MOST]
        if not fast:
            raise UnavailableError(f"the search found no placement faster than {MOST} times the CPU")
        chosen = [fast[i] for i in np.random.default_rng(0).permutation(len(fast))[: options.placements]]
        with measured_session(options.model, "cpu+emulated-gpu") as session:
            reference = next(b.candidate for b in session.baselines if b.candidate.name == "CPU")
            ratios, seconds = _measured(session.measurer, chosen, reference, options.visits)
    for spec, of_spec, s in zip(SPECS, ratios, seconds, strict=True):
        yield {
            "warm-up": spec.warmup,
            "blocks": spec.blocks,
            "samples": spec.repeats,
            "ms": f"{spec.min_time_ms:g}",
            "request": f"{s:.3f} s",
            "in a visit": f"{np.sqrt((np.diff(of_spec, axis=2) ** 2).mean() / 2):.3f}",
            "between visits": f"{np.sqrt(of_spec[:, :, 0].var(axis=0, ddof=1).mean()):.3f}",
            "off by": f"{np.expm1(of_spec.mean() - ratios[0].mean()):+.1%}",
        }


def _measured(
    measurer: Measurer, placements: list[Placement], reference: Candidate, visits: int
) -> tuple[FloatArray, FloatArray]:
    """Return logarithms of ratios of two requests, `[S, V, P, 2]`, and mean seconds of a request, `[S]`."""
    ratios, seconds = np.zeros((len(SPECS), visits, len(placements), 2)), np.zeros(len(SPECS))
    for visit in range(visits):
        for p, placement in enumerate(placements):
            candidate = in_stages(Candidate("placement", placement))
            measurer.request([candidate, reference], SPECS[-1])  # compiles it
            for i in range(2):
                for s, spec in rotated(list(enumerate(SPECS)), visit):
                    start = perf_counter()
                    both = measurer.request([candidate, reference], spec)
                    seconds[s] += perf_counter() - start
                    ratios[s, visit, p, i] = np.log(latency_ratio(*both))
    return ratios, seconds / ratios[0].size
