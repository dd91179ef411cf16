"""The layers that recipes share: named, seeded operations."""
