from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.evaluate.bit_sets import BitFields


@pytest.mark.parametrize(("n_elements", "n_fields"), [(1, 1), (7, 1), (8, 3), (63, 5), (64, 2), (200, 31)])
def test_fields_are_sets(n_elements: int, n_fields: int) -> None:
    rng = np.random.default_rng(n_elements)
    fields = BitFields(n_elements, n_fields)
    numbers, chosen = rng.integers(0, n_elements, (2, 40, n_fields))
    union = common = 0
    for left, right in zip(fields.elements(numbers), fields.elements(chosen), strict=True):
        union, common = union | left, union & right
    expected = [chosen[-1, field] in set(numbers[:-1, field]) for field in range(n_fields)]
    assert fields.read([fields.some(common)])[0].tolist() == expected
    assert fields.read([fields.some(union)]).all()


def test_answers_are_read_as_given() -> None:
    fields = BitFields(5, 9)
    yes = np.random.default_rng(0).random((20, 9)) < 0.5
    assert np.array_equal(fields.read(fields.answers(yes)), yes)


def test_every_element_where_the_answer_is_yes() -> None:
    fields = BitFields(5, 3)
    (answers,) = fields.answers(np.array([[True, False, True]]))
    for number in range(5):
        (single,) = fields.elements(np.full((1, 3), number))
        assert fields.read([fields.some(fields.every(answers) & single)]).tolist() == [[True, False, True]]


def test_no_lines_are_no_integers() -> None:
    fields = BitFields(3, 2)
    assert fields.answers(np.empty((0, 2), dtype=bool)) == []
    assert fields.elements(np.empty((0, 2), dtype=np.int64)) == []
