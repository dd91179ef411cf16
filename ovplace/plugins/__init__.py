"""Plug-ins: the roles that they play, and the registry that finds them."""
