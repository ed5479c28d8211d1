"""A stream has the bits of `score`, for every metric and for any files and partitions."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cidery.errors import SettingError
from laws.test_laws import METRICS, NAMES, any_caption
from support.captions import at_most
from support.example import Example
from support.markers import mark_metrics
from support.streams import check_same, score_here, score_in_memory, write_streams

pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")


@pytest.mark.parametrize("name", mark_metrics(NAMES))
def test_every_metric(name: str, example: Example, tmp_path: Path) -> None:
    count = 6 if METRICS[name].needs.extra in ("contextual", "spice") else 40
    candidates, references = example.many(count)
    sides = write_streams(tmp_path, candidates, references)
    if METRICS[name].needs.all_references or METRICS[name].needs.all_candidates:
        with pytest.raises(SettingError, match=r"all (references|captions)"):
            score_here(tmp_path, sides, [name])
        return
    result = score_here(tmp_path, sides, [name], partitions=4)
    check_same(result, score_in_memory(candidates, references, [name]))


@at_most(6)
@given(
    st.lists(
        st.tuples(any_caption, st.lists(any_caption, min_size=1, max_size=4)),
        min_size=1,
        max_size=12,
    ),
    st.sampled_from([1, 2, 16]),
    st.integers(1, 4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_any_files_and_partitions(
    pairs: list[tuple[str, list[str]]], partitions: int, files: int, named: bool, random: Any
) -> None:
    images = [f"image {i}" if named else i for i in range(len(pairs))]
    candidates = dict(zip(images, (candidate for candidate, _ in pairs), strict=True))
    references = dict(zip(images, (group for _, group in pairs), strict=True))
    shuffled = list(references)
    random.shuffle(shuffled)
    metrics = ["cider-d", "cider", "cider-r", "bleu", "rouge-l"]
    with tempfile.TemporaryDirectory() as folder:
        sides = write_streams(Path(folder), candidates, {i: references[i] for i in shuffled}, files)
        result = score_here(Path(folder), sides, metrics, partitions=partitions)
        check_same(result, score_in_memory(candidates, references, metrics))
