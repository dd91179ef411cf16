"""Time and memory of preparing, reading and grouping a large model.

Residual blocks of one-channel operations and, if asked for, matrix products with weights of 4 MiB each.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Row
from benchmarks.timing import in_new_process


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        ops: operations, about.
        weights_mib: size of all weights.
    """

    ops: int = 10_000
    weights_mib: int = 0


SHORT = Options(ops=600)


def rows(options: Options) -> Iterator[Row]:
    """Yield one row; the model is built in another process, so that its memory does not count."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source.xml"
        in_new_process(__name__, "build", source, options.ops, options.weights_mib)
        yield in_new_process(__name__, "read", source, Path(folder) / "prepared.xml")


def build(path: Path, n_ops: int, weights_mib: int) -> Row:
    """Save a model of about `n_ops` operations and `weights_mib` MiB of f32 weights."""
    import numpy as np
    import openvino as ov
    from openvino import opset13 as ops

    x = ops.parameter([1, 1024], np.float32, name="x")
    y: ov.Node = x
    for i in range(n_ops // 6):
        shifted = ops.add(y, ops.constant(np.full((1, 1), i, np.float32)))
        y = ops.add(y, ops.tanh(ops.multiply(ops.relu(shifted), ops.constant(np.full((1, 1), 0.5, np.float32)))))
    for i in range(weights_mib // 4):
        weight = np.random.default_rng(i).standard_normal((1024, 1024), dtype=np.float32)
        y = ops.matmul(y, ops.constant(weight), False, False)
    ov.save_model(ov.Model([y], [x], "large"), path, compress_to_fp16=False)
    return {}


def read(source: Path, target: Path) -> Row:
    """Return seconds of each step and sizes."""
    from ovplace.ir.legal.groups import legal_groups
    from ovplace.ir.prepare.prepare import prepare
    from ovplace.ir.read import read_graph

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
        "prepare_s": prepared - start,
        "read_s": hashed - prepared,
        "legal_groups_s": grouped - hashed,
    }
