"""Networks of the learned placers; with these, the only code that uses torch."""
