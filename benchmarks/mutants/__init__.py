"""Mutation testing: small faults put into the sources one at a time, and the tests that should see them."""
