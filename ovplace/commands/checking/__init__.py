"""Whether the answer of a finished run still holds on this machine."""
