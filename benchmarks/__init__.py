"""Benchmarks: suites of searches, timings of parts, studies of the method, papers; `python -m benchmarks --help`."""
