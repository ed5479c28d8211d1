"""`cidery doctor`."""
