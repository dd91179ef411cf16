"""Benchmarks: suites of searches, timings of single parts, and studies of the method. `python -m benchmarks --help`."""
