"""HSDAG's Table 3 beside searches on a simulated machine.

*Published* is the paper's own measurement on its hardware. *Best asked*, *policy* and *answer* are of the searches of
the suite `hsdag_parts`, preset `paper-log`, on the machine `counterfactual`, whose optimum is HSDAG's figure: the best
placement asked for, the median of the last 20 asked for, and the answer; median over the seeds. A dash: no searches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.hsdag_paper import PUBLISHED_FEATURES_S, PUBLISHED_MS
from benchmarks.report import Row
from benchmarks.script import ROOT

WHOLE = {"all features": "paper-log"}
"""Variants that have another name in the suite."""

COLUMNS = {"best asked, ms": "best asked", "policy, ms": "last 20", "answer, ms": "answer"}
SEARCHES = ROOT / "results" / "searches" / "hsdag-parts-searches.json"


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: of the paper; all if there are none.
    """

    models: tuple[str, ...] = ()


SHORT = Options(models=("resnet-50",))


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model and variant."""
    data = json.loads(SEARCHES.read_text(encoding="utf-8"))
    searches = [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]
    for model in options.models or PUBLISHED_MS:
        for variant, published_s in PUBLISHED_FEATURES_S.items():
            name = WHOLE.get(variant, variant)
            found = [s for s in searches if s["variant"] == name and s["model"].startswith(model)]
            here = {label: _ms(found, column, model) for label, column in COLUMNS.items()}
            yield {"model": model, "variant": variant, "published, ms": f"{1e3 * published_s[model]:.3g}", **here}


def _ms(searches: Sequence[Mapping[str, str]], column: str, model: str) -> str:
    """Return the median over searches of a latency, which they have over that of the optimum."""
    if not searches:
        return "-"
    return f"{PUBLISHED_MS[model]['HSDAG'] * median(float(search[column]) for search in searches):.3g}"
