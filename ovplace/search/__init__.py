"""A run: baselines, ask/tell loop, final comparison, verdict."""
