"""Operation types that placement treats specially."""

from __future__ import annotations

FREE = frozenset({"Parameter", "Constant", "Result"})
"""Types that compute nothing and form no submodel by themselves."""

GRAPH_INPUTS = ("Parameter", "Constant")
"""Types that read nothing."""

RANDOM = frozenset({"RandomUniform", "Multinomial"})
"""Types that give another result each time although their inputs stay the same."""

QUANTISING = frozenset({"FakeQuantize", "FakeConvert"})
"""Types whose results jump where their inputs differ by rounding, and which plugins compute in integers."""
