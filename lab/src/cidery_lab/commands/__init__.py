"""The command that this package adds to `cidery`: lab."""
