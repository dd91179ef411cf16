from __future__ import annotations

from dataclasses import replace

import pytest

from ovplace.session.outputs import mismatch_notes, not_finite_notes
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


def test_what_is_inside_a_body_is_named() -> None:
    graph = diamond()
    attributes = ({"body_0_ops": "3", "body_0_types": "Add,RandomUniform"}, *graph.attributes[1:])
    (note,) = mismatch_notes(replace(graph, attributes=attributes), ["GPU"])
    assert "the model draws random numbers (RandomUniform); allow" in note


@pytest.mark.parametrize("kinds", [("bf16", "f32"), ("f8e5m2", "f16")])
def test_an_output_in_a_coarse_type_is_named(kinds: tuple[str, str]) -> None:
    graph = diamond()
    types, elements = (*graph.types[:-2], "Result", "Result"), (*graph.element_types[:-2], *((kind,) for kind in kinds))
    (note,) = mismatch_notes(replace(graph, types=types, element_types=elements), ["GPU"])
    assert f"the model has outputs in {kinds[0]}, which devices round differently; allow" in note
    assert mismatch_notes(replace(graph, element_types=elements), ["GPU"]) == ()  # inside, it is rounded again


def test_nothing_is_said_where_they_should_not_or_do_not() -> None:
    assert mismatch_notes(diamond(), ["GPU"]) == ()
    graph = diamond()
    assert mismatch_notes(replace(graph, types=("RandomUniform", *graph.types[1:])), []) == ()


def test_outputs_without_a_finite_value_are_named() -> None:
    (note,) = not_finite_notes({"openvino": "1", "outputs_not_finite": "y, z"})
    assert note.startswith("no value of y, z is finite on the CPU with these inputs: ")
    assert not_finite_notes({"openvino": "1"}) == ()
