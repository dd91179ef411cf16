"""Contract tests that every plug-in of a role passes; packages with plug-ins of their own inherit them."""
