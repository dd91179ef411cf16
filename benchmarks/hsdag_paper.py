"""The models and latencies of HSDAG's paper.

Source: Duan et al., "A Structure-Aware Framework for Learning Device Placements on Computation Graphs"
(arXiv 2405.14185), Tables 1, 2 and 3; BERT at a sequence length of 8, as the authors' code tokenises its one sentence.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.prepared import prepared_recipe
from benchmarks.searches.place import Place
from ovplace import zoo

MACHINE = "i9-12900k+flex170"
"""The simulated machine calibrated to the paper's."""

PUBLISHED_MS: Mapping[str, Mapping[str, float]] = {
    "inception-v3": {"GPU": 12.0, "CPU": 12.8, "HSDAG": 10.5},
    "resnet-50": {"GPU": 7.81, "CPU": 16.0, "HSDAG": 7.66},
    "bert-base": {"GPU": 2.77, "CPU": 6.38, "HSDAG": 2.67},
}
PUBLISHED_S: Mapping[str, Mapping[str, float | None]] = {
    "CPU-only": {"inception-v3": 0.0128, "resnet-50": 0.0160, "bert-base": 0.00638},
    "GPU-only": {"inception-v3": 0.0120, "resnet-50": 0.00781, "bert-base": 0.00277},
    "OpenVINO-CPU": {"inception-v3": 0.0128, "resnet-50": 0.0234, "bert-base": 0.00657},
    "OpenVINO-GPU": {"inception-v3": 0.0138, "resnet-50": 0.00876, "bert-base": 0.00284},
    "Placeto": {"inception-v3": 0.0116, "resnet-50": 0.00932, "bert-base": 0.00651},
    "RNN-based": {"inception-v3": 0.0128, "resnet-50": 0.00875, "bert-base": None},
    "HSDAG": {"inception-v3": 0.0105, "resnet-50": 0.00766, "bert-base": 0.00267},
}
"""Table 2; None where the method ran out of memory."""

PUBLISHED_SIZES = {"inception-v3": (728, 764), "resnet-50": (396, 411), "bert-base": (1009, 1071)}
"""Nodes and edges, Table 1."""

PUBLISHED_FEATURES_S: Mapping[str, Mapping[str, float]] = {
    "all features": {"inception-v3": 0.0105, "resnet-50": 0.00766, "bert-base": 0.00267},
    "without output shape": {"inception-v3": 0.0117, "resnet-50": 0.00768, "bert-base": 0.00278},
    "without node id": {"inception-v3": 0.0117, "resnet-50": 0.00768, "bert-base": 0.00279},
    "without structural features": {"inception-v3": 0.0109, "resnet-50": 0.00766, "bert-base": 0.00268},
}
"""Table 3."""

DEVICES = ("GPU", "CPU")
OPTIONS: Mapping[str, Mapping[str, object]] = {
    "inception-v3": {"height": 299, "width": 299},
    "bert-base": {"tokens": 8},
}


@contextmanager
def paper_models(names: Sequence[str], machine: str = MACHINE, *, fp16: bool = False) -> Iterator[dict[str, Place]]:
    """Build models of the paper, prepared as a run prepares them, and remove them in the end.

    Args:
        names: of `PUBLISHED_MS`; all if there are none.
        machine: name or file of a simulated machine.
        fp16: weights in f16, as the paper's; the machine of the paper is calibrated to those in f32.

    Yields:
        Each model on the machine, by name.
    """
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        yield {name: Place(_build(name, folder, fp16), machine) for name in names or PUBLISHED_MS}


def _build(name: str, folder: Path, fp16: bool) -> Path:
    return prepared_recipe(name, folder, zoo.recipe(name).Config(**OPTIONS.get(name, {})), fp16=fp16)
