from __future__ import annotations

import numpy as np

from ovplace.features.op_type import VOCABULARY, Config, Feature
from ovplace.testing.graphs import chain


def test_each_type_has_its_column_and_unknown_ones_the_last():
    rows = Feature(Config()).compute(chain(("Sin", "Add", "NeverHeardOf", "Sin")))
    assert rows.shape == (4, len(VOCABULARY) + 1)
    assert rows.argmax(axis=1).tolist() == [
        VOCABULARY.index("Sin"),
        VOCABULARY.index("Add"),
        len(VOCABULARY),
        VOCABULARY.index("Sin"),
    ]
    assert np.array_equal(rows.sum(axis=1), np.ones(4))


def test_the_vocabulary_is_sorted_and_without_repeats():
    assert list(VOCABULARY) == sorted(set(VOCABULARY))
