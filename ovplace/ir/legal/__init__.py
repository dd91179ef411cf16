"""Legal groups, and the operations that each device supports."""
