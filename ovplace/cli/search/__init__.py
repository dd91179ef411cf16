"""Commands that search: one placement, many of them, or a policy."""
