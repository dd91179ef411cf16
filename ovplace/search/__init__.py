"""A run: baselines, ask/tell loop, duel, verdict."""
