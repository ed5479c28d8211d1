"""The version: written here alone, so that anything may import it."""

__version__ = "0.2.0"
