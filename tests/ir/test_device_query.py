"""What a device supports, without those of its answers that are known to be wrong."""

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.devices.emulated_gpu import emulated_device
from ovplace.ir.device_query import query_support


class Boastful:
    """A Core whose devices support everything."""

    def query_model(self, model, device):
        return {op.get_friendly_name(): device for op in model.get_ops()}


def looped(order):
    """Return a model whose TensorIterator permutes its rows."""
    x, row = ops.parameter([4, 5, 7], np.float32, name="x"), ops.parameter([1, 5, 7], np.float32)
    end = ops.result(ops.transpose(row, ops.constant(order)))
    loop = ops.tensor_iterator()
    loop.set_function(ov.Model([end], [row], "body"))
    loop.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
    loop.set_friendly_name("loop")
    rows = loop.get_concatenated_slices(end.output(0), 0, 1, 1, -1, 0)
    return ov.Model([ops.result(ops.relu(rows, name="relu"), name="y")], [x], "looped")


@pytest.mark.parametrize(("order", "supported"), [([0, 2, 1], set()), ([2, 1, 0], {"loop"})])
def test_the_emulated_gpu_gets_no_body_that_it_computes_wrongly(order, supported):
    known = query_support(Boastful(), looped(order), emulated_device())
    assert known == {"x", "relu", "y"} | supported
