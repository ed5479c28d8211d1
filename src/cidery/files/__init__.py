"""Reading and writing files: captions, references, events, slices, rows, chunks of large files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
