"""Commands of a fleet."""
