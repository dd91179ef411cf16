"""Commands about models, and about the devices of this machine."""
