"""Timings of single parts of ovplace."""
