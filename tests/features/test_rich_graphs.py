"""All features on graphs with what the small ones of the contract lack: constants, several outputs, odd shapes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import graph, layered, reordered

NAMES = registry.names("features")
SHAPES = ((), (8,), (1, 3, -1, 224), (2, 3, 4, 5, 6, 7, 8), (1, 30_522, 768), (0, 4), (-1,))
LARGEST = {"fractal_dimension": 16.0}  # log2 of the readers of a hub; all else is about 1


def rows(name, of):
    plugin = registry.load("features", name)
    return plugin.factory(plugin.config({})).compute(of)


def rich(seed, n=80):
    of, rng = layered(n, seed), generator(seed, "testing", "rich")
    types = tuple("Constant" if kind == "Sin" else kind for kind in of.types)
    shapes = tuple(tuple(SHAPES[k] for k in rng.integers(len(SHAPES), size=3)) for _ in range(n))
    several = np.array([kind != "Constant" for kind in types])[of.edges[0]]
    ports = np.stack([rng.integers(3, size=of.edges.shape[1]) * several, of.ports[1]])
    _, tensor = np.unique(np.stack([of.edges[0], ports[0]]), axis=1, return_inverse=True)
    sizes = rng.integers(10**8, size=tensor.max() + 1)[tensor]
    return replace(of, types=types, shapes=shapes, ports=ports, out_bytes=sizes, element_types=(("f16",) * 3,) * n)


def with_edges_shuffled(of, seed):
    order = generator(seed, "testing", "edges").permutation(of.edges.shape[1])
    return replace(of, edges=of.edges[:, order], ports=of.ports[:, order], out_bytes=of.out_bytes[order])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_rows_follow_when_operations_and_edges_are_reordered(name, seed):
    of = rich(seed)
    order = generator(seed, "testing", "reorder").permutation(len(of)).tolist()
    assert np.allclose(rows(name, with_edges_shuffled(reordered(of, order), seed)), rows(name, of)[order])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("of", [rich(0), graph(("Concat",) * 900, [(i, 899) for i in range(899)])], ids=["rich", "hub"])
def test_rows_are_of_about_unit_scale(name, of):
    found = rows(name, of)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= LARGEST.get(name, 1.2)


@pytest.mark.parametrize("name", NAMES)
def test_columns_are_as_many_in_every_model(name):
    widths = {rows(name, of).shape[1] for of in (rich(0), graph(("Relu",), ()), graph((), ()))}
    assert len(widths) == 1
