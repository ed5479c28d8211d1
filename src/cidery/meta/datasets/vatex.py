"""VATEX-EVAL (Shi et al., CVPR 2022): captions of videos, each rated by three people."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from cidery.errors import FormatError
from cidery.meta.datasets.files import locate
from cidery.meta.judgments import JudgedCaptions, Ratings

FILES = ("candidates_list.pkl", "gts_list.pkl", "human_scores.pkl", "video_ids.pkl")
JUDGES = 3
_ALLOWED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "scalar"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
}
"""Functions that pickles of arrays need."""


def read_vatex_eval(path: str | os.PathLike[str]) -> Ratings:
    """Read four pickles of arrays: 18,000 captions of 3,000 videos, three ratings from 1 to 5 each.

    Only arrays, lists, numbers and text are unpickled; anything else is refused.
    Published results use one reference, or nine (`--references 9 --draw first`).
    """
    files = locate(path, *FILES, folder="vatex_eval")
    captions, references, scores, videos = (_read_array(file) for file in files)
    count = len(captions)
    if len(references) != count or len(videos) != count or scores.size != JUDGES * count:
        raise FormatError(
            f"{path}: {count} captions, {len(references)} lists of references, {len(videos)} "
            f"videos and {scores.size} ratings are inconsistent; expected {JUDGES} ratings per "
            "caption"
        )
    try:
        # All ratings of the first person come first.
        ratings = scores.astype(np.float64).reshape(JUDGES, count).T
    except (TypeError, ValueError):
        raise FormatError(f"{files[2]}: expected numbers") from None
    images = np.unique([str(video) for video in videos], return_inverse=True)[1]
    return Ratings(
        "vatex-eval",
        JudgedCaptions(
            [_get_text(caption, files[0]) for caption in captions],
            np.arange(count),
            [[_get_text(text, files[1]) for text in group] for group in references],
            images.astype(np.int64),
        ),
        np.repeat(np.arange(count), JUDGES),
        ratings.reshape(-1),
    )


def _get_text(value: Any, file: Path) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{file}: expected text, found {value!r}")
    return str(value)


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(
                f"refused to load {module}.{name}, as only arrays of text and numbers are needed"
            )
        return super().find_class(module, name)


def _read_array(file: Path) -> Any:
    try:
        return np.asarray(_ArrayUnpickler(io.BytesIO(file.read_bytes())).load())
    except OSError:
        raise
    except Exception as error:  # damaged pickles raise nearly anything
        raise FormatError(f"{file}: cannot be read ({error})") from None
