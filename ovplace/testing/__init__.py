"""Contract tests for plug-ins of this and other packages, and the fakes and graphs that they use."""
