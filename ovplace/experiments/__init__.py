"""Experiments: the same search over variants, models, machines and seeds, each cell in a process and a folder."""
