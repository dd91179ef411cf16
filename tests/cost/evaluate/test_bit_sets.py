from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.evaluate.submodels.bit_sets import BitFields


@pytest.mark.parametrize(("n_elements", "n_fields"), [(1, 1), (7, 1), (8, 3), (63, 5), (64, 2), (200, 31)])
def test_fields_are_sets(n_elements: int, n_fields: int) -> None:
    members = np.random.default_rng(n_elements).random((2, n_elements, n_fields)) < 1.5 / n_elements
    fields = BitFields(n_elements, n_fields)
    left, right = fields.sets(members)
    both = [fields.some(left & right), fields.some(left | right)]
    assert np.array_equal(fields.read(both), [members.all(axis=0).any(axis=0), members.any(axis=(0, 1))])


def test_the_same_set_everywhere() -> None:
    fields, members = BitFields(5, 3), np.array([True, False, False, True, True])
    assert [fields.everywhere(0b11001)] == fields.sets(np.broadcast_to(members[None, :, None], (1, 5, 3)))


def test_answers_are_read_as_given() -> None:
    fields = BitFields(5, 9)
    yes = np.random.default_rng(0).random((20, 9)) < 0.5
    assert np.array_equal(fields.read(fields.answers(yes)), yes)


def test_every_element_where_the_answer_is_yes() -> None:
    fields = BitFields(5, 3)
    (answers,) = fields.answers(np.array([[True, False, True]]))
    for number in range(5):
        single = fields.everywhere(1 << number)
        assert fields.read([fields.some(fields.every(answers) & single)]).tolist() == [[True, False, True]]


def test_no_lines_are_no_integers() -> None:
    fields = BitFields(3, 2)
    assert fields.answers(np.empty((0, 2), dtype=bool)) == []
    assert fields.sets(np.empty((0, 3, 2), dtype=bool)) == []
