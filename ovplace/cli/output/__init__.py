"""Output of the commands: tables, results, progress."""
