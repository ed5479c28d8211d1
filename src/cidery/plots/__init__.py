"""Plots (extra `plots`)."""
