"""A network of HSDAG's that trains in a moment."""

PLACER = """
[placer]
head = "devices"
described = false
grouping = "fixed"
hidden = 8
head_hidden = 8
head_rounds = 2
"""
"""The table of a training's configuration."""
