"""A run that is set up: prepared model, devices, groups, measuring process, baselines."""
