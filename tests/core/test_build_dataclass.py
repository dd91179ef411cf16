from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import pytest

from ovplace.core.build_dataclass import build_dataclass
from ovplace.errors import ConfigError


@dataclass(frozen=True)
class Sample:
    count: int = 1
    share: float = 0.5
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    flag: bool = False
    limit: float | None = None
    most: Optional[int] = None  # noqa: UP045 - plug-ins may write it so


def test_values_take_the_fields_types():
    values = {"count": "3", "share": 1, "names": "a,b", "sizes": [1, "2"], "flag": "no", "limit": "2", "most": "3"}
    found = build_dataclass(Sample, values, "x")
    assert found == Sample(3, 1.0, ("a", "b"), (1, 2), False, 2.0, 3)
    assert type(found.share) is float


@pytest.mark.parametrize(
    "wrong", [{"count": 1.5}, {"count": True}, {"share": "x"}, {"sizes": "a"}, {"flag": 2}, {"names": 3}, {"other": 1}]
)
def test_the_place_of_a_bad_value_is_named(wrong):
    with pytest.raises(ConfigError, match=rf"x\.{next(iter(wrong))}"):
        build_dataclass(Sample, wrong, "x")
