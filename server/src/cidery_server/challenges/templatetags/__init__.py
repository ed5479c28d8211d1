"""Template filters of challenges."""
