"""The report of a run: one HTML file that shows what runs where, why, and whether to believe it."""
