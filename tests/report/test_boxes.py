"""The boxes of the graph: nested, small, and each operation in one."""

from collections import Counter

import numpy as np
import pytest

from ovplace.report.sections.boxes import FAN_OUT, GROUP, PART, SUBMODEL, boxes_of


def made(n, submodels, group_size):
    ops = np.arange(n)
    return boxes_of(np.array_split(ops, submodels), ops // group_size, ops)


@pytest.mark.parametrize(("n", "submodels", "group_size"), [(1, 1, 1), (40, 3, 4), (500, 60, 2), (10_000, 9, 5)])
def test_no_box_holds_more_than_can_be_read(n, submodels, group_size):
    boxes = made(n, submodels, group_size)
    held = Counter(boxes.box_of) + Counter(boxes.parent)
    assert max(held.values()) <= FAN_OUT
    assert all(parent < box for box, parent in enumerate(boxes.parent))
    assert boxes.kind.count(SUBMODEL) == submodels


def test_operations_are_inside_their_submodel_and_group():
    boxes = made(40, 2, 4)

    def around(op):
        box = boxes.box_of[op]
        while box >= 0:
            yield boxes.kind[box], boxes.number[box]
            box = boxes.parent[box]

    assert dict(around(0)) == {GROUP: 0, SUBMODEL: 0}
    assert dict(around(39)) == {GROUP: 9, SUBMODEL: 1}


def test_a_group_of_one_operation_is_that_operation():
    assert PART not in made(10, 1, 1).kind
    assert GROUP not in made(10, 1, 1).kind
