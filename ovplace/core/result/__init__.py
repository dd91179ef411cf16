"""The result of a run: its parts, its table, and the names that users read in it."""
