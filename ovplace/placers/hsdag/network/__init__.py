"""HSDAG's policy network: encoder, parsing network, and the heads that choose devices."""
