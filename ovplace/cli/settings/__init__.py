"""Commands about what a run can be set to, and what runs leave for later ones."""
