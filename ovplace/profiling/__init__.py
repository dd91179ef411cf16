"""Measuring the costs of a model's parts and of the links between devices."""
