"""Timing a compiled model in a process of its own."""
