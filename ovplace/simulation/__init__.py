"""Simulated machines: devices, links, noise."""
