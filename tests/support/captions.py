"""Generated captions, and strategies of hypothesis."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# Every example writes its file anew, so one directory serves all.
in_one_directory = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def at_most(count: int) -> settings:
    """Draw so many examples where each takes long, and no more than the profile says."""
    return settings(max_examples=min(count, settings.default.max_examples))


REFERENCES: dict[str, list[str]] = {
    "kitchen": ["a cat sleeps on the stove", "the cat is warm"],
    "garden": ["two dogs dig a hole", "dogs, digging", "a hole in the lawn"],
    "harbour": ["an old boat"],
}
CANDIDATES: dict[str, str] = {
    "garden": "a dog digs",
    "harbour": "a boat",
    "kitchen": "a cat on a stove",
}

captions = st.text(st.characters(codec="utf-8"), max_size=20)
image_ids = st.one_of(
    st.lists(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=6), unique=True, min_size=1
    ),
    st.lists(st.integers(0, 10**12), unique=True, min_size=1),
)


@st.composite
def reference_sets(draw: st.DrawFn) -> dict[Any, list[str]]:
    """Draw references for a few images, with ids of one type."""
    return {
        image: draw(st.lists(captions, min_size=1, max_size=3)) for image in draw(image_ids)[:5]
    }


def write_json(path: Path, document: Any) -> Path:
    """Write a document as JSON, gzipped where the name ends in `.gz`."""
    content = json.dumps(document).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def coco_annotations(references: dict[Any, list[str]]) -> list[dict[str, Any]]:
    """Return references as the annotations of COCO, with an id each."""
    pairs = [(image, caption) for image, group in references.items() for caption in group]
    return [
        {"image_id": image, "id": number, "caption": caption}
        for number, (image, caption) in enumerate(pairs)
    ]
