"""The version, where everything may read it without importing the package's interface."""

__version__ = "0.1.0"
