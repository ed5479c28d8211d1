"""CHAIR: objects that captions mention although they are not in the image."""
