"""Contract tests and fakes for plug-ins, ours and others'."""
