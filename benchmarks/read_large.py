"""Prepares, reads and groups a large IR and prints seconds and memory as JSON.

    python benchmarks/read_large.py [--ops 10000] [--weights-mb 0]

The first number is of residual blocks of one-channel operations, the second adds a weight of that size.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph


def build(path: Path, n_ops: int, weights_mb: int) -> None:
    """Save a model of about `n_ops` operations and `weights_mb` of f32 weights."""
    x = ops.parameter([1, 1024], np.float32, name="x")
    y: ov.Node = x
    for i in range(n_ops // 6):
        shifted = ops.add(y, ops.constant(np.full((1, 1), i, np.float32)))
        y = ops.add(y, ops.tanh(ops.multiply(ops.relu(shifted), ops.constant(np.full((1, 1), 0.5, np.float32)))))
    for i in range(weights_mb // 4):
        weight = np.random.default_rng(i).standard_normal((1024, 1024), dtype=np.float32)
        y = ops.matmul(y, ops.constant(weight), False, False)
    ov.save_model(ov.Model([y], [x], "large"), path, compress_to_fp16=False)


def measure(source: Path, target: Path) -> dict[str, float]:
    """Return seconds of each step, sizes, and the process's peak memory in MiB."""
    start = time.perf_counter()
    prepare(source, target)
    prepared = time.perf_counter()
    graph = read_graph(target)
    hashed = time.perf_counter()
    groups = legal_groups(graph)
    grouped = time.perf_counter()
    return {
        "ops": len(graph),
        "groups": groups.n_groups,
        "weights_mib": round(target.with_suffix(".bin").stat().st_size / 2**20, 1),
        "prepare_s": round(prepared - start, 2),
        "read_s": round(hashed - prepared, 2),
        "legal_groups_s": round(grouped - hashed, 2),
        "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def main() -> None:
    """Build the model in a process of its own, so that its memory does not count, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=10_000)
    parser.add_argument("--weights-mb", type=int, default=0)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        build(options.build, options.ops, options.weights_mb)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.xml"
        subprocess.run([sys.executable, *sys.argv, "--build", str(source)], check=True)
        print(json.dumps(measure(source, Path(folder) / "prepared.xml"), indent=2))


if __name__ == "__main__":
    main()
