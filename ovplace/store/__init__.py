"""Files of a run and of the user's cache."""
