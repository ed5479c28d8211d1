"""Document frequencies: the number of images in which each n-gram occurs; the shipped sets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
