"""Running work: progress callbacks, worker processes, memory, and results shared within one run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
