"""Document frequencies: in how many images each n-gram occurs; the shipped sets."""

from cidery.frequencies.counted import CountedFrequencies
from cidery.frequencies.document_frequencies import (
    MAX_ORDER,
    SHIPPED,
    DocumentFrequencies,
    list_shipped_files,
    load_shipped,
)

__all__ = [
    "MAX_ORDER",
    "SHIPPED",
    "CountedFrequencies",
    "DocumentFrequencies",
    "list_shipped_files",
    "load_shipped",
]
