"""Images with their candidates and references: matching, checks, descriptions, example data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
