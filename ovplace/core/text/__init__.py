"""Text as the outside reads and writes it: JSON and Markdown."""
