"""Computations of the commands other than `optimize`: inspect, dry run, measure, optimality gap."""
