"""IR that somebody wrote to harm: it is read, or refused in one line, within seconds."""

from __future__ import annotations

import re
import time

import openvino as ov
import pytest

from ovplace.errors import ModelError
from ovplace.ir.model_info import model_info
from ovplace.measuring.isolated_call import isolated_call
from ovplace.testing.models import TINY

pytestmark = pytest.mark.slow
SLOWEST_S = 60.0
"""Reading starts a process, which takes seconds on a busy machine; a bomb would take hours."""


def sub(pattern, text, count=0):
    return lambda ir: re.sub(pattern, text, ir, count=count, flags=re.DOTALL)


def entity_bomb(ir):
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    head, rest = ir.split("\n", 1)
    return f'{head}<!DOCTYPE net [<!ENTITY a0 "lol">{entities}]>' + sub('name="[^"]*"', 'name="&a9;"', 1)(rest)


def file_entity(ir):
    head, rest = ir.split("\n", 1)
    return f'{head}<!DOCTYPE net [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + sub('name="[^"]*"', 'name="&x;"', 1)(
        rest
    )


def cycle(ir):
    first, *_ = re.findall(r"<edge [^>]*/>", ir)
    ends = dict(re.findall(r'(\S+)="(\d+)"', first))
    back = f'<edge from-layer="{ends["to-layer"]}" from-port="2" to-layer="{ends["from-layer"]}" to-port="0"/>'
    return ir.replace(first, first + back)


REFUSED = {
    "cycle": cycle,
    "no edges": sub("<edges>.*</edges>", "<edges></edges>"),
    "missing port": sub('to-port="0"', 'to-port="77"', 1),
    "missing layer": sub('from-layer="0"', 'from-layer="999"', 1),
    "offset beyond the weights": sub(r' offset="\d+"', ' offset="99999999999"'),
    "offset that overflows": sub(r' offset="\d+"', ' offset="18446744073709551615"'),
    "negative size": sub(r' size="\d+"', ' size="-4"'),
    "size that overflows": sub(r' size="\d+"', ' size="18446744073709551612"'),
    "absurd shape": sub(r'shape="[\d,]+"', 'shape="999999999,999999999"'),
    "negative shape": sub(r'shape="[\d,]+"', 'shape="-5,-7"'),
    "deep": lambda _: "<net>" + "<a>" * 200_000 + "</a>" * 200_000 + "</net>",
    "truncated": lambda ir: ir[: len(ir) // 2],
    "empty": lambda _: "",
    "other version": sub(r' version="\d+">', ' version="99">', 1),
    "unknown operation": sub('type="Convolution"', 'type="Evil"'),
    "unknown type": sub('element_type="f32"', 'element_type="f99"'),
    "no numbers": sub('strides="[^"]*"', 'strides="nan, 1e400"'),
    "zero strides": sub('strides="[^"]*"', 'strides="0, 0"'),
    "same ids": sub(r'<layer id="\d+"', '<layer id="0"'),
}
READ = {
    "entity bomb": entity_bomb,
    "entity of a file": file_entity,
    "long name": sub(' name="[^"]*" type="Parameter"', f' name="{"x" * 10_000}" type="Parameter"'),
    "name that acts": sub(
        ' name="[^"]*" type="Parameter"', ' name="a&quot;); DROP TABLE trials;--&#10;&#27;[31m$(id)" type="Parameter"'
    ),
    "same names": sub(' name="[^"]*" type=', ' name="same" type='),
}


def read(tmp_path, change):
    path = tmp_path / "model.xml"
    ov.save_model(TINY["residual"](), path, compress_to_fp16=False)
    ir = path.read_text(encoding="utf-8")
    changed = change(ir)
    assert changed != ir
    path.write_text(changed, encoding="utf-8")
    start = time.monotonic()
    try:
        return isolated_call("reading the model", model_info, path, "")
    finally:
        assert time.monotonic() - start < SLOWEST_S


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_one_line(tmp_path, name):
    with pytest.raises(ModelError) as caught:
        read(tmp_path, REFUSED[name])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", READ)
def test_what_is_odd_is_data(tmp_path, name):
    assert "root:" not in repr(read(tmp_path, READ[name]))
