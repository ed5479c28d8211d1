"""A worker's cache of scorers: keyed by everything that a scorer is built from, and bounded."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

from cidery.metrics import get_metrics

CAPTIONS = ["a cat sleeps", "a dog runs fast"]


def make_references(slug: str, *references: list[str], frequencies: str = "references") -> Any:
    from cidery_server.challenges.models import Challenge, HiddenReferences, pack_json

    challenge = Challenge(
        slug=slug, metrics=["rouge-l"], frequencies=frequencies, packed_images=pack_json([1, 2])
    )
    packed = pack_json(list(references))
    return HiddenReferences(challenge=challenge, name="c2", packed_references=packed)


def labeled(*names: str) -> Any:
    return tuple(get_metrics(names).items())


def test_a_scorer_is_used_again_for_the_same_references(local_app: None) -> None:
    from cidery_server.challenges.scorer_cache import ScorerCache

    scorers, rouge = ScorerCache(), labeled("rouge-l")
    first, second = (make_references("one", ["a cat"], ["a dog"]) for _ in range(2))
    assert scorers.get(first, rouge) is scorers.get(second, rouge)
    assert len(scorers) == 1


def test_changed_references_metrics_and_frequencies_are_other_scorers(local_app: None) -> None:
    from cidery_server.challenges.models import pack_json
    from cidery_server.challenges.scorer_cache import ScorerCache

    scorers, metric = ScorerCache(), labeled("cider-d")
    found = make_references("one", ["a cat sleeps"], ["a dog runs"])
    found.pk = 7
    before = scorers.get(found, metric).score(CAPTIONS, [0, 1], [0, 1]).corpus["cider-d"]
    found.packed_references = pack_json([["two birds sing"], ["a dog runs"]])
    changed = scorers.get(found, metric).score(CAPTIONS, [0, 1], [0, 1]).corpus["cider-d"]
    assert before != changed
    found.challenge.frequencies = "coco-val2014"
    shipped = scorers.get(found, metric).score(CAPTIONS, [0, 1], [0, 1]).corpus["cider-d"]
    assert shipped != changed
    scorers.get(found, labeled("rouge-l"))
    found.challenge.packed_images = pack_json([3, 4])
    scorers.get(found, metric)
    assert len(scorers) == 5


def test_changed_files_of_metrics_are_other_scorers(local_app: None, tmp_path: Path) -> None:
    """Owners may name files on the server's command line; a worker runs for months."""
    from cidery_server.challenges.scorer_cache import ScorerCache

    words = tmp_path / "words.txt"
    words.write_text("cat")
    scorers, irv = ScorerCache(), labeled(f"irv-unigram:stop_words={words}")
    found = make_references("one", ["a cat sleeps"], ["a dog runs"])
    first = scorers.get(found, irv)
    before = first.score(CAPTIONS, [0, 1], [0, 1]).signatures
    assert scorers.get(found, irv) is first
    words.write_text("dog")
    assert scorers.get(found, irv).score(CAPTIONS, [0, 1], [0, 1]).signatures != before


def test_every_field_of_a_challenge_is_in_the_key(local_app: None) -> None:
    """Of the fields that `build_scorer` takes; others do not change scores."""
    from cidery_server.challenges.scorer_cache import ScorerKey, build_scorer

    arguments = set(inspect.signature(build_scorer).parameters)
    assert arguments | {"data"} == {field.name for field in fields(ScorerKey)}
    key, metric = ScorerKey.of, labeled("cider-d")
    found = make_references("one", ["a cat"], ["a dog"])
    before = key(found, metric)
    found.challenge.language = "de"
    assert key(found, metric) != before


def test_the_oldest_scorer_goes_first(local_app: None) -> None:
    from cidery_server.challenges.scorer_cache import ScorerCache

    scorers, rouge = ScorerCache(most=2), labeled("rouge-l")
    one, two, three = (make_references("x", [f"cat {n}"], ["a dog"]) for n in range(3))
    kept, dropped = scorers.get(one, rouge), scorers.get(two, rouge)
    assert scorers.get(one, rouge) is kept
    scorers.get(three, rouge)
    assert len(scorers) == 2
    assert scorers.get(one, rouge) is kept
    assert scorers.get(two, rouge) is not dropped
