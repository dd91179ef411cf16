"""Suites: searches on simulated machines over a grid of `ovplace.experiments`, compared with the certified optimum."""
