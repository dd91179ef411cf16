"""The models and latencies of HSDAG's paper.

Source: Duan et al., "A Structure-Aware Framework for Learning Device Placements on Computation Graphs"
(arXiv 2405.14185), Table 2; BERT at a sequence length of 8, as the authors' code tokenises its one sentence.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.searches.place import Place
from ovplace import zoo
from ovplace.ir.prepare.prepare import prepare

MACHINE = "i9-12900k+flex170"
"""The simulated machine calibrated to the paper's."""

PUBLISHED_MS: Mapping[str, Mapping[str, float]] = {
    "inception-v3": {"GPU": 12.0, "CPU": 12.8, "HSDAG": 10.5},
    "resnet-50": {"GPU": 7.81, "CPU": 16.0, "HSDAG": 7.66},
    "bert-base": {"GPU": 2.77, "CPU": 6.38, "HSDAG": 2.67},
}
DEVICES = ("GPU", "CPU")
OPTIONS: Mapping[str, Mapping[str, object]] = {
    "inception-v3": {"height": 299, "width": 299},
    "bert-base": {"tokens": 8},
}


@contextmanager
def paper_models(names: Sequence[str], machine: str = MACHINE) -> Iterator[dict[str, Place]]:
    """Build models of the paper, prepared as a run prepares them, and remove them in the end.

    Args:
        names: of `PUBLISHED_MS`; all if there are none.
        machine: name or file of a simulated machine.

    Yields:
        Each model on the machine, by name.
    """
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        yield {name: Place(_build(name, folder), machine) for name in names or PUBLISHED_MS}


def _build(name: str, folder: Path) -> Path:
    source, target = folder / f"{name}.source.xml", folder / f"{name}.xml"
    zoo.save_recipe(name, zoo.recipe(name).Config(**OPTIONS.get(name, {})), source)
    prepare(source, target)
    return target
