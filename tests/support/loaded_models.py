"""The parser and the encoder that most commands load, for the fork server to import."""

from __future__ import annotations

import sys

from cidery.metrics.contextual.encoders import get_encoder
from cidery.metrics.spice.pipeline import load_parser

sys.modules["torch"] = None  # type: ignore[assignment]  # spaCy would load it in vain
load_parser()
del sys.modules["torch"]
get_encoder("minilm")
