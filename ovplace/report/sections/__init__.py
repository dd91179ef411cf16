"""The sections of a report, each plain data: what a page shows can be tested without a browser."""
