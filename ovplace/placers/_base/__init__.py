"""Base classes of placers."""
