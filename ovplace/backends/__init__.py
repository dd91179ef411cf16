"""Backend plug-ins: one file, one way to measure."""
