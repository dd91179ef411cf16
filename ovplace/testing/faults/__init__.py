"""Faults on purpose: what strikes a run from outside and inside, and what it loses and leaves behind."""
