"""Slices of challenges: scores, tests and leaderboards by slice, and files that cannot be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cidery
from cidery.corpus import bundled
from cidery.errors import CideryError
from cidery.files import read_candidates, read_references

if TYPE_CHECKING:
    from cidery_server.challenges.models import Challenge, Submission

METRICS = ["cider-d", "bleu-4"]
DEFINITION = {
    "slug": "domains",
    "title": "Domains",
    "metrics": METRICS,
    "frequencies": "coco-val2014",
    "entry": "open",
    "probes_shown": 1000,
    "references": {"c5": "nocaps.json"},
    "slices": "domain",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example's captions, whose references have domains as nocaps' have."""
    for name in bundled.NAMES:
        shutil.copy(bundled.path(name), tmp_path)
    content = json.loads((tmp_path / "references.json").read_text())
    images = sorted({annotation["image_id"] for annotation in content["annotations"]})
    names = ("in-domain", "near-domain", "near-domain")
    content["images"] = [{"id": i, "domain": names[i % 3]} for i in images]
    (tmp_path / "nocaps.json").write_text(json.dumps(content))
    rows = "".join(f"{i},{'first' if i < 5 else 'others'}\n" for i in images)
    (tmp_path / "uneven.csv").write_text(f"image_id,part\n{rows}")
    rows = "".join(f"{i},{i}\n" for i in images)
    (tmp_path / "many.csv").write_text(f"image_id,part\n{rows}")
    return tmp_path


@pytest.fixture
def scored(
    local_app: None, folder: Path
) -> Iterator[tuple[Challenge, dict[str, Submission], Path]]:
    """A challenge with two teams' submissions, scored and compared."""
    from cidery_server.challenges.creation import create_from_file
    from cidery_server.challenges.models import Submission, pack_json
    from cidery_server.challenges.ranking import compare_with_best
    from cidery_server.challenges.scorer_cache import ScorerCache
    from cidery_server.challenges.scoring import score_submission
    from cidery_server.web.models import Account

    path = folder / "challenge.json"
    path.write_text(json.dumps(DEFINITION))
    (challenge,) = create_from_file(path)
    found = {}
    for name in ("system_a", "system_b"):
        team = Account.objects.create(name=name)
        captions = dict(read_candidates(folder / f"{name}.json"))
        found[name] = Submission.objects.create(
            challenge=challenge,
            team=team,
            title=name,
            packed_captions=pack_json([captions[image] for image in challenge.images]),
        )
        score_submission(found[name].pk, ScorerCache())
    compare_with_best(challenge)
    yield challenge, found, folder
    Account.objects.filter(name__in=found).delete()
    challenge.delete()


def test_scores_and_tests_by_slice_are_those_of_cidery_compare(scored: Any) -> None:
    from cidery_server.challenges.ranking import contrast, rank

    challenge, found, folder = scored
    by = cidery.read_slices(folder / "nocaps.json", "domain")
    comparison = cidery.compare(
        {name: dict(read_candidates(folder / f"{name}.json")) for name in found},
        read_references(folder / "nocaps.json"),
        METRICS,
        frequencies="coco-val2014",
        by=by,
        correct="all",
    )
    for name, submission in found.items():
        slices = comparison.tables[name].slices
        assert slices is not None
        stored = {(s.slice, s.metric): s for s in submission.scores.all()}
        assert {key for key, _ in stored} == {"", "in-domain", "near-domain"}
        for slice_name, table in slices.items():
            for metric, interval in table.intervals().items():
                score = stored[slice_name, metric]
                assert score.value == table.corpus[metric]
                assert (score.low, score.high) == (interval.low, interval.high)
    contrasts = contrast(found["system_a"], found["system_b"])
    assert contrasts is not None
    assert comparison.slices is not None
    assert [c.column.slice for c in contrasts] == ["", "", *["in-domain"] * 2, *["near-domain"] * 2]
    for row in contrasts:
        tests = comparison.slices[row.column.slice] if row.column.slice else comparison.tests
        test = tests[row.column[1]]["system_a", "system_b"]
        assert (row.difference, row.low, row.high, row.p) == pytest.approx(
            (test.difference, test.low, test.high, test.adjusted_p)
        )
    board = rank(challenge, slice="in-domain")
    assert [entry.submission.title for entry in board.entries] == ["system_a", "system_b"]
    cells = board.entries[1].scores
    assert {cell.mark.value for cell in cells} == {"apart"}
    with pytest.raises(CideryError, match="unknown slice 'out-domain'"):
        rank(challenge, slice="out-domain")


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ("domian", "neither length, references, an existing file, FILE:COLUMN nor a field; .*has"),
        ("uneven.csv", "the slice 'first' has 4 images; at least 10 are required"),
        ("many.csv:part", "a challenge may have 20 slices, not 72"),
        ("no-such.csv", "no slices named 'no-such.csv'"),
        ({"1": "a"}, '"slices" must be a file, a field of the references or length'),
    ],
)
def test_slices_that_a_challenge_cannot_have(
    local_app: None, folder: Path, slices: Any, message: str
) -> None:
    from cidery_server.challenges.creation import create_from_file

    path = folder / "challenge.json"
    path.write_text(json.dumps(DEFINITION | {"slices": slices}))
    with pytest.raises(CideryError, match=message):
        create_from_file(path)
