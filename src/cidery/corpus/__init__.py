"""Images with their candidates and references: matching, validation, slices, descriptions."""
