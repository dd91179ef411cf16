"""One root seed, named child generators: the only source of randomness in ovplace."""

from __future__ import annotations

import zlib

import numpy as np


def generator(root_seed: int, *path: str | int) -> np.random.Generator:
    """Return the generator that belongs to `path` under `root_seed`.

    The same arguments give the same stream on every machine and in every process; different paths give
    independent streams, so that adding a consumer never shifts the numbers another one draws.

    Args:
        root_seed: the run's seed, at least 0.
        *path: names (or counters) of the consumer, such as `"placer", "random"`.
    """
    key = [part if isinstance(part, int) else zlib.crc32(part.encode()) for part in path]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(root_seed, spawn_key=key)))
