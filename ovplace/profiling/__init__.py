"""Measures what the parts of a model and the links between devices cost."""
