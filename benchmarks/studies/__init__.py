"""Studies of the method: how searches end, what final comparisons find, how much a fleet measures."""
