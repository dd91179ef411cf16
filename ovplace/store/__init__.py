"""What a run remembers."""
