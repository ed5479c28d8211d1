"""Metrics whose settings name files: the command line may open them, pages may not."""

from __future__ import annotations

import dataclasses
import typing
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import pytest

from cidery.errors import CideryError
from cidery.metrics import METRICS

FILES = (
    "bertscore:encoder=/srv/secrets",
    "consensus:encoder=secrets",
    "bertscore:baseline=secrets.tsv",
    "meteor:table=secrets.table",
    "clipscore:features=secrets.npz",
    "ref-pac-s:model=secrets,images=pictures",
    "chair-recall:instances=secrets.json",
    "spice:parser=../secrets",
    "irv-unigram:stop_words=secrets.txt",
)
NO_FILES = frozenset({"device", "prompt", "parser", "language", "stemmer"})
"""Settings in words that open nothing: names of what is installed, and text."""


def accepts(metrics: str | list[str], **settings: Any) -> bool:
    from cidery_server.challenges.forms import ChallengeForm

    form = ChallengeForm(data={"slug": "a", "title": "A", "metrics": metrics}, **settings)
    valid = bool(form.is_valid())
    assert valid or set(form.errors) == {"metrics"}
    return valid


@pytest.mark.parametrize("metric", FILES)
def test_forms_open_no_files(local_app: None, metric: str) -> None:
    from cidery_server.challenges.creation import LOCAL

    assert not accepts(f"rouge-l {metric}")
    assert accepts(["rouge-l", metric], context=LOCAL)
    assert accepts("rouge-l bertscore:encoder=minilm meteor clipscore")


@pytest.mark.parametrize("metric", FILES)
def test_studies_open_no_files(local_app: None, metric: str) -> None:
    from django.http import QueryDict

    from cidery_server.studies.pages.results import AccuracyQuery, ResultsQuery

    def accept(name: str) -> list[bool]:
        content = QueryDict(urlencode({"metric": name}))
        return [query(data=content).is_valid() for query in (ResultsQuery, AccuracyQuery)]

    assert accept(metric) == [False, False]
    assert accept("bertscore:encoder=minilm") == [True, True]
    assert accept("clairvoyance") == [True, True]  # the page says that it is unknown


def test_no_setting_is_forgotten() -> None:
    for metric in METRICS.values():
        kinds = typing.get_type_hints(type(metric))
        for field in dataclasses.fields(metric):
            takes_words = str in (kinds[field.name], *typing.get_args(kinds[field.name]))
            if not takes_words or field.name in NO_FILES:
                continue
            with suppress(CideryError):  # one of a few words
                changed = dataclasses.replace(metric, **{field.name: "/srv/secrets"})
                assert changed.needs.files == {field.name: "/srv/secrets"}, metric.name


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("rouge-l, bleu-4,meteor", ["rouge-l", "bleu-4", "meteor"]),
        ("cider-d:n=3,sigma=4 bleu-1", ["cider-d:n=3,sigma=4", "bleu-1"]),
        ("cider-d:n=3,bleu-1", ["cider-d:n=3", "bleu-1"]),
        (["cider-d:n=3,sigma=4", "bleu-1"], ["cider-d:n=3,sigma=4", "bleu-1"]),
    ],
)
def test_commas_in_settings(local_app: None, given: Any, names: list[str]) -> None:
    from cidery_server.challenges.forms import MetricNames

    field = MetricNames()
    assert field.to_internal_value(given) == names
    assert field.to_internal_value(field.to_representation(names)) == names
