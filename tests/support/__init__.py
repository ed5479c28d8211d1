"""Helpers of all tests: browsers, reference tools, generated data."""
