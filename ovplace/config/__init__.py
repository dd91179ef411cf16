"""The configuration of a run: its sections, TOML, and plug-in settings resolved to types."""
