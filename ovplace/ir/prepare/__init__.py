"""Turns a model file into the one that is placed, measured and exported."""
