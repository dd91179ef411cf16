"""The full cost model as a mixed-integer linear program."""
