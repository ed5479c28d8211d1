"""The parser and the encoder that most commands load, for the fork server to import."""

from __future__ import annotations

from cidery.encoders import get_encoder
from cidery.metrics.spice.parser import load_parser

load_parser()
get_encoder("minilm")
