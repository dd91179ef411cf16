"""Placer plug-ins: one file, one algorithm."""
