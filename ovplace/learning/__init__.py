"""What at least two learned placers share; with their own packages, the only code that uses torch."""
