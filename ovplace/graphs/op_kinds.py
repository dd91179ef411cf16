"""Operation types that placing treats apart."""

from __future__ import annotations

FREE = frozenset({"Parameter", "Constant", "Result"})
"""What computes nothing and forms no submodel by itself."""

RANDOM = frozenset({"RandomUniform", "Multinomial"})
"""What gives another result each time although its inputs stay the same."""
