"""Ablations: the same searches with one thing changed at a time, or all combinations of several, over seeds."""
