"""Base classes and parts that several placers share."""
