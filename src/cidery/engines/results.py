"""Result of score_stream()."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cidery.scoring.score_table import ScoreTable


@dataclass(frozen=True, eq=False)
class StreamResult:
    """Scores of a stream: corpus scores in a table, scores of captions in files.

    ```py
    result = cidery.score_stream("samples/*.parquet", "references.parquet", captions="scores")
    print(result.table)
    ```
    """

    table: ScoreTable
    """Corpus scores, signatures and intervals; scores of captions are in `files`."""
    captions: int
    """Number of captions."""
    files: Sequence[Path] = field(default=())
    """Parquet files with a row per caption, if `captions` was given."""
