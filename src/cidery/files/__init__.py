"""Files in and out: captions and references, tables of rows, document frequencies in pickles."""

from cidery.files.caption_files import read_candidates, read_references
from cidery.files.containers import FORMATS, Format
from cidery.files.events import Event, read_events
from cidery.files.frequency_pickles import FrequencyCounts, read_frequency_pickle
from cidery.files.row_files import check_rows_file, write_rows
from cidery.files.slice_files import read_slices
from cidery.files.sources import Readable

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
