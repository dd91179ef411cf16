"""A page that shows what a fleet does."""
