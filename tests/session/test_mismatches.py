from __future__ import annotations

from dataclasses import replace

import pytest

from ovplace.session.mismatches import mismatch_notes
from ovplace.testing.graphs import diamond


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        (["RandomUniform"], "the model draws random numbers (RandomUniform); allow"),
        (["FakeQuantize"], "the model is quantised (FakeQuantize), and devices round differently; allow"),
        (["FakeQuantize", "Multinomial"], "draws random numbers (Multinomial) and is quantised (FakeQuantize), and"),
    ],
)
def test_it_is_said_why_devices_differ(kinds: list[str], why: str) -> None:
    graph = diamond()
    (note,) = mismatch_notes(replace(graph, types=(*kinds, *graph.types[len(kinds) :])), ["GPU"])
    assert note.startswith("outputs of GPU differ: ")
    assert why in note


def test_nothing_is_said_where_they_should_not_or_do_not() -> None:
    assert mismatch_notes(diamond(), ["GPU"]) == ()
    graph = diamond()
    assert mismatch_notes(replace(graph, types=("RandomUniform", *graph.types[1:])), []) == ()
