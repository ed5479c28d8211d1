"""Files in and out: captions and references, tables of rows, document frequencies in pickles."""

from cidery.files.caption_files import read_candidates, read_references
from cidery.files.containers import FORMATS, Format
from cidery.files.events import Event, read_events
from cidery.files.frequency_pickles import FrequencyCounts, read_frequency_pickle
from cidery.files.row_files import check_rows_file, write_rows
from cidery.files.slice_files import read_slices
from cidery.files.slices import (
    Slices,
    SlicesLike,
    find_slices,
    is_file_of_slices,
    is_grouping,
    slice_images,
)
from cidery.files.sources import Readable, read_json_objects

__all__ = [
    "FORMATS",
    "Event",
    "Format",
    "FrequencyCounts",
    "Readable",
    "Slices",
    "SlicesLike",
    "check_rows_file",
    "find_slices",
    "is_file_of_slices",
    "is_grouping",
    "read_candidates",
    "read_events",
    "read_frequency_pickle",
    "read_json_objects",
    "read_references",
    "read_slices",
    "slice_images",
    "write_rows",
]
