"""Measuring in child processes that may hang or die."""
