"""Measuring on other machines: a scheduler, a worker on each machine, and searches that ask them, over TLS."""
