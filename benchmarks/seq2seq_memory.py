"""Memory and time of one update of the seq2seq placer's network: one JSON line a size.

    python benchmarks/seq2seq_memory.py [--groups 1000 2000 4000] [--samples 10] [--hidden 64] [--attention 32]

One update: `samples` sequences are drawn, and the gradient of their log probability and of the entropy is taken. About
1,000 groups is BERT with each operation a group. `memory_mib` is the peak of the process, `start_mib` what it had
before the network was built. Memory has to grow with the number of groups, not with its square.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

FEATURES = 600
"""Columns that describe a group: an embedded type, shapes, and 256 columns each of inputs and outputs."""

DEVICES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--attention", type=int, default=32)
    arguments = parser.parse_args()
    if len(arguments.groups) == 1:
        one(arguments.groups[0], arguments.samples, arguments.hidden, arguments.attention)
        return
    sizes = [f"--{name}={getattr(arguments, name)}" for name in ("samples", "hidden", "attention")]
    for groups in arguments.groups:  # a process each, for its own peak of memory
        subprocess.run([sys.executable, __file__, f"--groups={groups}", *sizes], check=True)


def one(groups: int, samples: int, hidden: int, attention: int) -> None:
    import numpy as np
    import torch

    from ovplace.learning.initialise import seeded
    from ovplace.placers.seq2seq.config import Seq2SeqSettings
    from ovplace.placers.seq2seq.network import Seq2Seq
    from ovplace.seeds import generator

    before = memory_mib()
    rng = generator(0, "benchmark", "seq2seq")
    network = seeded(lambda: Seq2Seq(FEATURES, DEVICES, Seq2SeqSettings(hidden=hidden, attention=attention)), 0)
    x = torch.from_numpy(rng.random((1, groups, FEATURES), dtype=np.float32))
    allowed = np.ones((1, groups, DEVICES), dtype=bool)
    start = time.perf_counter()
    drawn = network.draw(x, allowed, rng.random((samples, groups)))
    middle = time.perf_counter()
    log_p, entropy = network.log_p(x, allowed, drawn)
    (log_p.mean() + entropy).backward()
    row = {
        "groups": groups,
        "samples": samples,
        "hidden": hidden,
        "attention": attention,
        "draw_s": round(middle - start, 2),
        "gradient_s": round(time.perf_counter() - middle, 2),
        "start_mib": before,
        "memory_mib": memory_mib(),
        "target_mib": 2048,
    }
    print(json.dumps(row), flush=True)


def memory_mib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()
