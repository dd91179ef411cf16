"""Saved states of placers: what is written is read, and another version's is refused."""

from dataclasses import asdict, dataclass, field
from math import inf

import pytest

from ovplace.errors import StoreError
from ovplace.learning.saved_state import finite_or_none, from_saved, none_to_inf


@dataclass
class Counter:
    count: int = 0
    names: list[str] = field(default_factory=list)


def test_what_is_saved_is_read_and_lists_are_copied():
    saved = asdict(Counter(3, ["a"]))
    found = from_saved(Counter, saved)
    found.names.append("b")
    assert (found, saved["names"]) == (Counter(3, ["a", "b"]), ["a"])


@pytest.mark.parametrize("data", [{}, {"count": 1}, {"count": 1, "names": [], "worst": 2.0}], ids=str)
def test_the_state_of_another_version_is_refused_in_one_line(data):
    with pytest.raises(StoreError, match=r"another version.*-o") as refused:
        from_saved(Counter, data)
    assert "\n" not in str(refused.value)


def test_failures_survive_json():
    assert finite_or_none([1.5, inf]) == [1.5, None]
    assert none_to_inf([1.5, None]) == [1.5, inf]
