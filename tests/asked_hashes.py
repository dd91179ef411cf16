"""What a placer asks for where its answers depend on the placements alone."""

from ovplace.testing.contracts.placer import advance, by_hash


def asked_hashes(placer, rounds, batch=1, answer=by_hash):
    """Play some rounds, and return the hashes of all placements asked for."""
    return [placement.hash for placement in advance(placer, rounds, batch, answer)]
