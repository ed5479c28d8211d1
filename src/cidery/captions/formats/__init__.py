"""Files in and out: captions and references, tables of rows, document frequencies in pickles."""

from cidery.captions.formats.containers import FORMATS, Format
from cidery.captions.formats.events import Event, read_events
from cidery.captions.formats.pickles import FrequencyCounts, read_frequency_pickle
from cidery.captions.formats.reading import read_candidates, read_references
from cidery.captions.formats.slices import read_slices
from cidery.captions.formats.sources import Readable
from cidery.captions.formats.writing import check_rows_file, write_rows

__all__ = [
    "FORMATS",
    "Event",
    "Format",
    "FrequencyCounts",
    "Readable",
    "check_rows_file",
    "read_candidates",
    "read_events",
    "read_frequency_pickle",
    "read_references",
    "read_slices",
    "write_rows",
]
