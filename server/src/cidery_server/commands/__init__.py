"""Commands that this package adds to `cidery`: serve, study, challenge."""
