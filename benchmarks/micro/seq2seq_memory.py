"""Memory and time of one update of the seq2seq placer's network.

One update: `samples` sequences are drawn, and the gradient of their log probability and of the entropy is taken. About
1,000 groups is BERT with each operation a group. `memory_mib` is the peak of the process, `start_mib` what it had
before the network was built. Memory has to grow with the number of groups, not with its square; 2,048 MiB is the limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.report import Row
from benchmarks.timing import in_new_process, memory_mib

FEATURES = 600
"""Columns that describe a group: an embedded type, shapes, and 256 columns each of inputs and outputs."""

DEVICES = 2


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        groups: sizes.
        samples: sequences in an update.
        hidden: units of the network's layers.
        attention: units of its attention.
    """

    groups: tuple[int, ...] = (1000, 2000, 4000)
    samples: int = 10
    hidden: int = 64
    attention: int = 32


SHORT = Options(groups=(100,), samples=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each size, each from a process of its own, for its own peak of memory."""
    for groups in options.groups:
        yield in_new_process(__name__, "update", groups, options)


def update(groups: int, options: Options) -> Row:
    """Return the times of one update, and the memory before the network was built."""
    import numpy as np
    import torch

    from ovplace.learning.initialise import seeded
    from ovplace.placers.seq2seq.config import Seq2SeqSettings
    from ovplace.placers.seq2seq.network import Seq2Seq
    from ovplace.seeds import generator

    before = memory_mib()
    rng = generator(0, "benchmark", "seq2seq")
    settings = Seq2SeqSettings(hidden=options.hidden, attention=options.attention)
    network = seeded(lambda: Seq2Seq(FEATURES, DEVICES, settings), 0)
    x = torch.from_numpy(rng.random((1, groups, FEATURES), dtype=np.float32))
    allowed = np.ones((1, groups, DEVICES), dtype=bool)
    start = time.perf_counter()
    drawn = network.draw(x, allowed, rng.random((options.samples, groups)))
    middle = time.perf_counter()
    log_p, entropy = network.log_p(x, allowed, drawn)
    torch.autograd.backward(log_p.mean() + entropy)
    return {
        "groups": groups,
        "samples": options.samples,
        "hidden": options.hidden,
        "attention": options.attention,
        "draw_s": middle - start,
        "gradient_s": time.perf_counter() - middle,
        "start_mib": before,
    }
