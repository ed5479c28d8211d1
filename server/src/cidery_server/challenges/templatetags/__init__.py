"""What templates of challenges can do."""
