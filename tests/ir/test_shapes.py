"""The shapes that users write."""

from __future__ import annotations

import shlex

import openvino as ov
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openvino import opset13

from ovplace.core.text.input_shapes import parse_shapes, shape_item
from ovplace.errors import ModelError, UsageError
from ovplace.ir.shapes import make_static

PLAIN = st.text(
    st.characters(codec="ascii", categories=("L", "N"), include_characters="_/.:-"), min_size=1, max_size=12
)
NAMES = PLAIN | st.text(st.sampled_from('[],"a0 \n'), min_size=1, max_size=8)
SHAPES = st.dictionaries(NAMES, st.lists(st.integers(0, 5000), max_size=5).map(tuple), max_size=4)


@given(SHAPES)
def test_what_is_written_is_read(shapes: dict[str, tuple[int, ...]]) -> None:
    assert parse_shapes(",".join(shape_item(name, shape) for name, shape in shapes.items())) == shapes


@given(PLAIN)
def test_a_plain_name_needs_no_quotes(name: str) -> None:
    assert shape_item(name, (1, 0)) == f"{name}[1,0]"


def test_names_with_brackets_and_commas() -> None:
    assert parse_shapes("y[0][1,3], y[1] [2],a,b[0]") == {"y[0]": (1, 3), "y[1]": (2,), "a,b": (0,)}
    assert parse_shapes('"a[0],b"[1,3],"say ""c"""[2]') == {"a[0],b": (1, 3), 'say "c"': (2,)}


@pytest.mark.parametrize("name", ["x[0]", "x,y", "x[0],y", "it's", "two\nlines"])
def test_the_shape_that_is_proposed_is_understood(name: str) -> None:
    x = opset13.parameter(ov.PartialShape([-1, 3]), ov.Type.f32, name=name)
    model = ov.Model([opset13.result(opset13.relu(x))], [x])
    with pytest.raises(ModelError, match="no fixed shape") as error:
        make_static(model, {})
    proposed, *_ = shlex.split(str(error.value).split("--shape ")[1].split(" with a number")[0])
    make_static(model, parse_shapes(proposed.replace("?", "0")))
    assert list(model.inputs[0].get_shape()) == [0, 3]


def test_an_input_of_any_rank_is_asked_for_all_dimensions() -> None:
    x = opset13.parameter(ov.PartialShape.dynamic(), ov.Type.f32, name="x")
    with pytest.raises(ModelError, match=r"--shape 'x\[\.\.\.\]'.* and all dimensions in place of \.\.\.$"):
        make_static(ov.Model([opset13.result(opset13.relu(x))], [x]), {})


def test_the_shape_that_is_proposed_keeps_what_was_given() -> None:
    inputs = [opset13.parameter(ov.PartialShape([-1, 3]), ov.Type.f32, name=name) for name in "abc"]
    with pytest.raises(
        ModelError, match=r"1 of 3 inputs have no fixed shape; pass --shape 'a\[8,3\],b\[\?,3\],c\[4,3\]'"
    ):
        make_static(ov.Model([opset13.concat(inputs, 0)], inputs), {"c": (4, 3), "a": (8, 3)})


def test_spaces_and_the_only_input() -> None:
    assert parse_shapes(" data [1, 3 ,8] , mask[] ") == {"data": (1, 3, 8), "mask": ()}
    assert parse_shapes("[1,3,8]") == {"": (1, 3, 8)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("data[1,?]", r"dimension '\?'"),
        ("data[-1,3]", "dimension '-1'"),
        ("data[1..4]", r"dimension '1\.\.4'"),
        ("data[1,,3]", "dimension ''"),
        ("data", "not understood from 'data'"),
        ("data[1", r"not understood from 'data\[1'"),
        ("data[1],", "not understood"),
        ('"data[1]', "not understood"),
        ("1,3,224,224", "not understood"),
        ("a[1],a[2]", "'a' twice"),
        ("[1],[2]", "the only input twice"),
        ("[1],a[2]", "with and without"),
    ],
)
def test_what_is_not_a_static_shape_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told) as error:
        parse_shapes(text)
    assert "\n" not in str(error.value)


def test_an_input_without_an_element_type_is_refused() -> None:
    read = opset13.parameter([1, 16], ov.Type.dynamic, "read")
    read.output(0).set_names({"read"})
    with pytest.raises(
        ModelError, match=r"input 'read' has no element type; .*\('read', \[1, 16\], openvino\.Type\.f32\)"
    ):
        make_static(ov.Model([opset13.result(read)], [read]), {})
