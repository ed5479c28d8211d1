"""Metrics: `METRICS` by name, their classes, and `get_metrics`, which also finds plugins."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
