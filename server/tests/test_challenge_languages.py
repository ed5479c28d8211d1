"""Challenges in other languages than English: tokenizers, and warnings for teams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cidery
from cidery.errors import CideryError, LanguageWarning

if TYPE_CHECKING:
    from cidery_server.challenges.models import Challenge, Submission

GERMAN = {f"{n}": [f"{n} Hunde laufen am Strand", f"am Strand sind {n} Hunde"] for n in range(12)}
CHINESE = dict.fromkeys(GERMAN, "一个男人正在攀登雪山")


def create(folder: Path, **fields: Any) -> Challenge:
    from cidery_server.challenges.creation import create_from_file

    (folder / "references.json").write_text(json.dumps(GERMAN), encoding="utf-8")
    definition = {"slug": "strand", "title": "Strand", "metrics": ["cider", "rouge-l"]}
    definition |= {"entry": "open", "references": {"c2": "references.json"}, **fields}
    (folder / "challenge.json").write_text(json.dumps(definition))
    return create_from_file(folder / "challenge.json")[0]


@pytest.fixture
def challenge(local_app: None, tmp_path: Path) -> Iterator[Challenge]:
    made = create(tmp_path, language="German")
    yield made
    made.delete()


@pytest.fixture
def submissions(challenge: Challenge) -> Iterator[dict[str, Submission]]:
    """A good submission, and one in another language, by one team."""
    from cidery_server.challenges.models import Submission, pack_json
    from cidery_server.challenges.scorer_cache import ScorerCache
    from cidery_server.challenges.scoring import score_submission
    from cidery_server.web.models import Account

    team = Account.objects.create(name="strandgut")
    output = {"german": {i: f"{i} Hunde am Strand" for i in GERMAN}, "chinese": CHINESE}
    found = {}
    for title, captions in output.items():
        packed = pack_json([captions[image] for image in challenge.images])
        row = Submission.objects.create(
            challenge=challenge, team=team, title=title, packed_captions=packed
        )
        score_submission(row.pk, ScorerCache())
        found[title] = Submission.objects.get(pk=row.pk)
    yield found
    team.delete()


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_captions_are_cut_by_the_language(
    challenge: Challenge, submissions: dict[str, Submission]
) -> None:
    assert challenge.language == "de"
    output = dict(zip(challenge.images, submissions["german"].captions, strict=True))
    expected = cidery.score(output, GERMAN, ["cider", "rouge-l"], language="de")
    found = {score.metric: score for score in submissions["german"].scores.all()}
    for metric, score in found.items():
        assert score.value == pytest.approx(expected.corpus[metric])
        assert score.signature == expected.signatures[metric]
    assert "stemmer:german" in found["cider"].signature


def test_teams_are_told_what_cannot_be_cut(submissions: dict[str, Submission]) -> None:
    from django.test import Client

    assert submissions["german"].warnings == []
    (message,) = submissions["chinese"].warnings
    assert message == "captions are in Chinese, but the language is set to 'de'"
    address = f"/api{submissions['chinese'].get_absolute_url()}"
    client = Client()
    client.force_login(submissions["chinese"].team)
    assert client.get(address).json()["warnings"] == [message]
    page = client.get(submissions["chinese"].get_absolute_url()).content.decode()
    assert "so that their scores may be too low" in page
    assert Client().get(address).status_code == 404


def test_languages_that_cannot_be(local_app: None, tmp_path: Path) -> None:
    from cidery_server.challenges.creation import create_challenge

    with pytest.raises(CideryError, match="language: unknown language 'xx'"):
        create(tmp_path, language="xx")
    sets = {"c1": {image: [caption] for image, caption in CHINESE.items()}}
    fields = {"slug": "xueshan", "title": "Xueshan", "metrics": ["rouge-l"]}
    with pytest.warns(LanguageWarning, match="Chinese has no spaces"):
        made = create_challenge(fields, sets)
    assert made.language == ""
    made.delete()


def test_a_phase_has_the_language_of_its_challenge(challenge: Challenge) -> None:
    from cidery_server.challenges.creation import add_phase

    assert add_phase(challenge, {"phase": "test"}, {"c2": GERMAN}).language == "de"
