"""Date formats by language; numbers have Django's formats."""
