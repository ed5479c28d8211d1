"""Challenges with hidden references, submissions and leaderboards."""
