"""Captions as text and as tokens: tokenizers, segmenters, stemming, languages, scripts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
