"""From captions to numbers with signatures, intervals and tests."""
