"""Placements are compiled as they are, or refused in words."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import openvino as ov
import pytest

from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.ir.affinity import apply, check_chain, compile_placement, op_names, property_values, submodel_chain
from ovplace.testing.models import TINY


@pytest.fixture
def model():
    return TINY["residual"]()


@pytest.fixture
def core():
    core = ov.Core()
    core.register_plugin("openvino_intel_cpu_plugin", "CPU_A")
    return core


def test_every_operation_needs_a_device(model):
    first, *rest = op_names(model)
    with pytest.raises(PlacementError, match=rf"lacks 1 of {len(rest) + 1} operations, such as '{first}'"):
        apply(model, dict.fromkeys(rest, "CPU"))


def test_a_placement_of_another_model_is_refused(core, model):
    with pytest.raises(PlacementError, match="the placement has 3 operations, the model"):
        compile_placement(core, model, Placement.uniform(3, "CPU"))


def test_what_runs_is_what_was_asked_for(core, model):
    names = op_names(model)
    late = np.array([int(name in ("conv1", "sum")) for name in names])
    placement = Placement(late, ("CPU", "CPU_A"))
    compiled = compile_placement(core, model, placement)
    assert compiled.get_property("MULTI_DEVICE_PRIORITIES") == "CPU,CPU_A"
    chain = submodel_chain(compiled)
    check_chain(placement, chain)
    with pytest.raises(PlacementError, match="asked for CPU, but HETERO runs on CPU, CPU_A"):
        check_chain(Placement.uniform(len(names), "CPU"), chain)
    alone = compile_placement(core, model, Placement.uniform(len(names), "CPU"))
    assert alone.get_property("EXECUTION_DEVICES") == ["CPU"]


def test_a_header_that_is_written_before_the_plugin_fails_is_enough():
    class Compiled:
        def __init__(self, *parts):
            self.parts = parts

        def export_model(self, blob):
            for part in self.parts:
                blob.write(part)
            raise RuntimeError("no export")

    header = b'<x><compiled_submodel device="GPU"/><compiled_submodel device="CPU"/></x>\n'
    assert submodel_chain(Compiled(header)) == ("GPU", "CPU")
    with pytest.raises(RuntimeError, match="no export"):
        submodel_chain(Compiled(header[:20]))


def test_the_weights_behind_the_header_are_not_taken():
    class Compiled:
        def export_model(self, blob):
            blob.write(b'<x name="\xff"><compiled_submodel device="GPU"/></x>\n')
            with pytest.raises(Exception, match=r"^$"):
                blob.write(bytes(1000))
            raise RuntimeError("the stream is broken")

    assert submodel_chain(Compiled()) == ("GPU",)


@pytest.mark.parametrize("value", ["NPU", ["NPU"]])
def test_a_plugin_may_give_a_single_value_without_a_list(value):
    assert property_values(SimpleNamespace(get_property=lambda _: value), "EXECUTION_DEVICES") == ["NPU"]
