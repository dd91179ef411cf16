"""Commands about a run and its answer."""
