"""Captions beyond an encoder's window: split at sentences, pooled, and said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.encoders import Encoder, get_encoder
from cidery.encoders.long_text import find_middle
from cidery.errors import UnreliableWarning
from support.tiny_models import KINDS

SHORT = "a dog runs on the sofa"
LONG = "a dog runs. " * 9 + "the big cat sits on two sofas. " * 5


def test_where_texts_are_split() -> None:
    assert find_middle("A dog. Two cats run. It rains.") == 21
    assert find_middle("a dog and two cats") == 10
    assert find_middle("abcdef") == 3
    assert find_middle("狗跑。猫坐着。") == 3


@pytest.mark.model
@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_what_they_are_alone(kind: Any, tmp_path: Path, make_model: Any) -> None:
    make_model(kind, tmp_path)
    encoder = get_encoder(tmp_path)
    with pytest.warns(
        UnreliableWarning, match="1 caption has more than .* tokens, the maximum of folder"
    ):
        together = encoder.tokens([SHORT, LONG])
    alone = encoder.tokens([SHORT])
    assert together.states[together.rows(0)].tobytes() == alone.states.tobytes()
    rows = together.rows(1)
    assert rows.stop - rows.start > (encoder.window or 0)
    ends = np.flatnonzero(together.special[rows])[1::2] + 1  # each part ends with a special token
    parts = np.split(together.ids[rows], ends[:-1])
    assert len(parts) > 1
    assert all(len(part) <= (encoder.window or 0) for part in parts)
    cut = together.tokenize(LONG)
    assert len(cut) == rows.stop - rows.start
    # Together the parts have all tokens of the caption, and say where they stand.
    covered = {place for token in cut for place in range(token.start, token.end)}
    assert {place for place, letter in enumerate(LONG) if letter != " "} <= covered
    with pytest.warns(UnreliableWarning):
        embedded = encoder.embed([LONG, SHORT])
    mean = together.states[rows].mean(axis=0)
    np.testing.assert_allclose(embedded[0], mean / np.linalg.norm(mean), atol=1e-5)
    assert embedded[1].tobytes() == encoder.embed([SHORT])[0].tobytes()


@pytest.mark.model
def test_nonsense_after_the_window_is_seen(minilm: Encoder) -> None:
    right = "A dog runs over the grass with a red ball in its mouth. " * 50
    nonsense = right + "wombat teapot of of xylophone entropy. " * 20
    with pytest.warns(UnreliableWarning, match="captions? ha"):
        table = cidery.score(
            {"a": nonsense, "b": "a dog"}, {"a": [right], "b": ["a dog"]}, metrics=["bertscore"]
        )
    assert table.each["bertscore"][0] < 0.99
    assert table.each["bertscore"][1] == pytest.approx(1.0)
    assert "|long:split-" in table.signatures["bertscore"]
