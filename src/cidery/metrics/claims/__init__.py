"""Claims of a caption, and their support by its references."""
