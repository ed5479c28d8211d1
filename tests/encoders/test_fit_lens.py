"""tools/fit_lens.py: a lens learns what people look at, and shows it on captions it never saw."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cidery.meta import read_dataset

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("torch")]
SHARED = Path(__file__).parents[3] / "shared" / "data"
WIDTH, IMAGES, CAPTIONS = 24, 90, 4000


@pytest.fixture(scope="module")
def tool() -> Iterator[Any]:
    pytest.importorskip("torch", reason="learning a lens needs torch")
    path = Path(__file__).parents[2] / "tools" / "fit_lens.py"
    spec = importlib.util.spec_from_file_location("fit_lens", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fit_lens"] = module  # where its dataclasses look themselves up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["fit_lens"]


def make_material(tool: Any, rng: Any) -> Any:
    """Return judgments by people who look at a third of the directions alone."""
    import torch

    vectors = rng.normal(size=(IMAGES * 3 + CAPTIONS, WIDTH))
    matters = np.arange(WIDTH) < WIDTH // 3
    images = rng.integers(0, IMAGES, CAPTIONS)
    own = IMAGES * 3 + np.arange(CAPTIONS)
    references = images[:, None] * 3 + np.arange(3)
    vectors[own] += vectors[references].mean(axis=1)
    seen = vectors * matters / np.linalg.norm(vectors * matters, axis=1, keepdims=True)
    truth = np.einsum("nd,nkd->nk", seen[own], seen[references]).max(axis=1)
    judged = tool.Judged(
        torch.tensor(own), torch.tensor(references), torch.ones(CAPTIONS, 3, dtype=torch.bool)
    )
    first, second = np.arange(0, CAPTIONS, 2), np.arange(1, CAPTIONS, 2)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    goals = torch.tensor(np.digitize(truth, [0.3, 0.6, 0.8]).astype(float))
    votes = torch.tensor(np.sign(truth[first] - truth[second]))
    thirds, sides = images % 3, (torch.tensor(first), torch.tensor(second))
    rows = (torch.arange(CAPTIONS),)
    lessons = [
        tool.Lesson("flickr8k-cf", judged, rows, goals, thirds, thirds),
        tool.Lesson("pascal-50s", judged, sides, votes, thirds[first], thirds[first]),
    ]
    return torch.tensor(vectors / lengths, dtype=torch.float32), lessons


def test_a_lens_carries_over_to_other_images(tool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(tool, "BATCH", 256)
    monkeypatch.setattr(tool, "BATCHES", {})
    vectors, lessons = make_material(tool, np.random.default_rng(0))
    lens = tool.fit(vectors, lessons, left_out=0)
    for lesson, gain in zip(lessons, (0.1, 0.03), strict=True):
        some = lesson.choose(lesson.images == 0)
        raw, seen = (lesson.judge(some, vectors, a) for a in (torch.zeros(2, WIDTH, 1), lens))
        assert seen > raw + gain


def test_a_reference_that_is_not_there_counts_for_nothing(tool: Any) -> None:
    """Rows are padded; what stands in the padding must not matter."""
    import torch

    chance = torch.Generator().manual_seed(0)
    vectors = torch.nn.functional.normalize(torch.randn(6, WIDTH, generator=chance), dim=1)
    lens = torch.zeros(2, WIDTH, 1)
    there = torch.tensor([[True, True, False]])
    scores = [
        tool.Judged(torch.tensor([0]), torch.tensor([[1, 2, padding]]), there).score(
            torch.tensor([0]), vectors, lens
        )
        for padding in (3, 4)
    ]
    cosines = (vectors[1:3] @ vectors[0]).double()
    expected = torch.log(torch.exp(tool.SOFTNESS * cosines).mean()) / tool.SOFTNESS
    assert scores[0] == scores[1]
    assert float(scores[0]) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data")
def test_nothing_that_is_reported_teaches(tool: Any) -> None:
    crowd, pairs = tool.read_crowd(SHARED), tool.read_pairs(SHARED)
    expert = read_dataset("flickr8k-expert", SHARED)

    def name(dataset: Any) -> Any:
        judged = dataset.judged
        names = list(zip(judged.image_of_caption.tolist(), judged.captions, strict=True))
        return {names[row] for row in dataset.rows.tolist()}

    assert len(crowd) == 45_658
    assert not name(crowd) & name(expert)
    names = list(json.loads((SHARED / "pascal50s" / "refs50.json").read_text()))
    images = set(pairs.judged.image_of_caption.tolist())
    assert all(sha256(names[image].encode()).digest()[-1] % 2 == 0 for image in images)
    assert 1_900 < len(pairs) < 2_100
