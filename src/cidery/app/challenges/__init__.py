"""The evaluation server: challenges with hidden references, submissions and leaderboards."""
