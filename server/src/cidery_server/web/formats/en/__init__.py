"""Date formats of this language."""
