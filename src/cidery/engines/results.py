"""What a stream's scores are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cidery.scoring.tables import ScoreTable


@dataclass(frozen=True, eq=False)
class StreamResult:
    """The scores of a stream: those of the corpus in a table, those of captions in files.

    ```py
    result = cidery.score_stream("samples/*.parquet", "references.parquet", captions="scores")
    print(result.table)
    ```
    """

    table: ScoreTable
    """Corpus scores, signatures and intervals; it has no rows of captions."""
    captions: int
    """How many captions were scored."""
    files: Sequence[Path] = field(default=())
    """The Parquet files with a row per caption, where they were asked for."""
