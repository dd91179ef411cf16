"""Coarsener plug-ins: one file, one way to group."""
