"""Studies of what runs and parsers survive."""
