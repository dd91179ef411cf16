"""Exact and approximate solvers of the sequential cost model."""
