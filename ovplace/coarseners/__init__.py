"""Coarsener plug-ins: one file for each way to merge groups."""
