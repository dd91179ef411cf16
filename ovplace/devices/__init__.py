"""Devices as data: discovery, variants, the emulated GPU."""
