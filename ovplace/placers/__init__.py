"""Placer plug-ins: one file or package for each algorithm."""
