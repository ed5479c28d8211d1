"""METEOR in other languages than English: the jar's answers, stems, tables, settings, warnings."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.cli import main
from cidery.errors import DataError, LanguageWarning, MissingExtraError, SettingError
from cidery.metrics import get_metrics
from cidery.metrics.meteor_languages import METEOR_LANGUAGES, get_meteor_language
from cidery.storage import meteor_table, write_meteor_table
from support.meteor_phrases import PHRASES
from support.meteor_runs import Run, compare, measure

GOLDEN = Path(__file__).with_name("meteor_languages.jsonl")
"""What the jar answers; `python benchmarks/run.py meteor_languages --write FILE` makes it."""

CANDIDATES = {"beach": "Zwei Hunde laufen am Strand"}
REFERENCES = {"beach": ["zwei Hunde rennen am Strand entlang", "ein Hund läuft"]}


def read_golden() -> dict[tuple[str, Any], list[dict[str, Any]]]:
    found: dict[tuple[str, Any], list[dict[str, Any]]] = {}
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        found.setdefault((entry["language"], entry["function_words"]), []).append(entry)
    return found


def test_golden_scores(meteor_data: Path) -> None:
    golden = read_golden()
    assert {language for language, _ in golden} == set(PHRASES) == set(METEOR_LANGUAGES) - {"en"}
    for (language, words), entries in golden.items():
        metric = cidery.Meteor(language=language, function_words=words)
        segments = [(entry["candidate"], entry["references"]) for entry in entries]
        rows = measure(metric, segments)
        expected = np.array([entry["statistics"] for entry in entries], float)
        scores = [entry["score"] for entry in entries]
        np.testing.assert_allclose(metric.each(rows), scores, rtol=0, atol=1e-12, err_msg=language)
        np.testing.assert_array_equal(rows[:, [0, 1, 21, 22]], expected[:, [0, 1, 21, 22]])
        if metric.language in meteor_table.NAMES:
            np.testing.assert_array_equal(rows[:, :20], expected[:, :20])
        assert 0 < np.mean(scores) < 1 and expected[:, 8:12].any() == (language != "cs")


@pytest.mark.parametrize(
    "given",
    [
        Run("de", paraphrases=True),
        Run("fr", own_words=True),
        Run("es"),
        Run("cs"),
        Run("ru"),
        Run("fi"),
    ],
    ids=lambda run: run.label,
)
def test_live(java: str, meteor_data: Path, tmp_path: Path, given: Run) -> None:
    """The jar's statistics and scores on other segments; the golden file has all languages."""
    found = compare(given, 40, tmp_path, seed=3)
    assert (found.segments, found.differences) == (40, [])


@pytest.mark.parametrize(
    ("language", "first", "second", "equal"),
    [
        ("cs", "psi", "psů", False),
        ("da", "huset.", "huset..", True),
        ("da", "hunde", "hunden", True),
        ("de", "hunde", "hunden", True),
        ("de", "ergebnis", "ergebnisse", False),
        ("es", "perro", "perros", True),
        ("fr", "ballon", "ballons", True),
        ("fr", "égoïsme", "égoïste", False),
        ("ru", "собака", "собаки", True),
        ("ru", "ещё", "еще", False),
        ("fi", "koira", "koiran", True),
        ("fi", "asioihin", "asioiden", False),
        ("fi", "bussiin", "bussilla", True),
        ("fi", "andré", "andrée", True),
        ("hu", "park", "parkban", True),
        ("hu", "akiben", "akiről", False),
        ("pt", "menino", "meninos", True),
        ("pt", "resolução", "resoluções", False),
        ("pt", "institución", "institui", True),
    ],
)
def test_stems_are_those_of_the_jar(language: str, first: str, second: str, equal: bool) -> None:
    """As the jar matches these pairs, which Snowball 2 stems otherwise where they are odd."""
    stems = METEOR_LANGUAGES[language].stem([first, second])
    assert (stems[0] == stems[1]) == equal


def test_a_language_chooses_meteors(meteor_data: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LanguageWarning)
        table = cidery.score(CANDIDATES, REFERENCES, ["meteor"], language="de")
    object_given = cidery.score(
        CANDIDATES, REFERENCES, [cidery.Meteor(language="de")], language="de"
    )
    assert table.corpus == object_given.corpus
    assert table.signatures["meteor"].startswith(
        "meteor|data:de|functions:english|paraphrases:no|table:"
    )
    assert "|language:de|tokenizer:words+clean|" in table.signatures["meteor"]
    assert get_metrics(["meteor"], language="German") == {"meteor": cidery.Meteor(language="de")}
    assert get_metrics(["meteor"], language="zh") == {"meteor": cidery.Meteor()}
    mixed = get_metrics([cidery.Meteor(), cidery.Meteor(language="fr")], language="de")
    assert list(mixed) == [
        "meteor:paraphrases=yes,language=en",
        "meteor:paraphrases=no,language=fr",
    ]


def test_english_stays_as_it_was() -> None:
    assert list(cidery.Meteor().settings().items()) == [("paraphrases", "yes"), ("table", "none")]
    assert cidery.Meteor(function_words="own") == cidery.Meteor(language="English")


def test_languages_that_meteor_does_not_know_are_warned_of(meteor_data: Path) -> None:
    with pytest.warns(LanguageWarning, match="support English only.*meteor"):
        cidery.score(CANDIDATES, REFERENCES, ["meteor:paraphrases=no"], language="pl")


def test_function_words_of_its_own_change_the_score(meteor_data: Path) -> None:
    metrics = ["meteor", "meteor:function_words=own"]
    english, own = cidery.score(CANDIDATES, REFERENCES, metrics, language="de").corpus.values()
    assert english != own and english == pytest.approx(own, abs=0.02)


def test_some_languages_need_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def lack() -> Path:
        raise MissingExtraError.to("score with METEOR", package="pycocoevalcap", extra="meteor")

    monkeypatch.setattr(meteor_table, "find_sources", lack)
    table = cidery.score({"a": "os cães correm"}, {"a": ["o cão corre"]}, ["meteor"], language="pt")
    assert table.corpus["meteor"] > 0
    with pytest.raises(MissingExtraError):
        cidery.score(CANDIDATES, REFERENCES, ["meteor"], language="de")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"language": "zh"}, "METEOR does not support Chinese; it supports en, cs, de"),
        ({"language": "de", "paraphrases": True}, "data build meteor --language de --paraphrases"),
        ({"language": "it", "paraphrases": True}, "METEOR has no paraphrases for 'it'"),
        ({"language": "it", "table": "it.table"}, "METEOR has no paraphrases for 'it'"),
        ({"language": "it", "function_words": "own"}, "no function words for 'it'"),
        ({"function_words": "all"}, "function_words must be one of english, own"),
        ({"language": "de", "function_words": "own", "table": "x"}, "those it was compiled with"),
    ],
)
def test_settings_that_do_not_fit(settings: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        cidery.Meteor(**settings)


def test_two_languages_at_once_are_refused(meteor_data: Path) -> None:
    with pytest.raises(SettingError, match="has the language 'fr', but the pipeline has 'de'"):
        cidery.score(CANDIDATES, REFERENCES, [cidery.Meteor(language="fr")], language="de")


def test_a_table_with_paraphrases(
    meteor_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = Run("de").write_paraphrases(tmp_path)
    own = tmp_path / "de.table"
    arguments = ["--language", "de", "--paraphrases", str(packed), "-o", str(own)]
    assert main(["data", "build", "meteor", *arguments]) == 0
    assert capsys.readouterr().out.strip() == str(own)
    metric = cidery.Meteor(language="de", table=own)
    matches = metric.align("Ein Hund läuft", "Das Tier läuft").matches
    assert [match.stage for match in matches] == ["paraphrase", "exact"]
    table = cidery.score(CANDIDATES, REFERENCES, [metric], language="de")
    assert table.signatures["meteor"].startswith("meteor|data:de|paraphrases:yes|table:")
    with pytest.raises(SettingError, match="compiled for the language 'de', not for 'en'"):
        cidery.score(["a"], [["a"]], [cidery.Meteor(table=own)])
    with pytest.raises(SettingError, match="no paraphrases for 'it'"):
        write_meteor_table(own, packed, "it")
    assert main(["data", "build", "meteor", "--language", "de"]) == 2
    assert "pass --paraphrases" in capsys.readouterr().err


def test_explanations_sum_to_the_score(meteor_data: Path) -> None:
    metric = cidery.Meteor(language="es", function_words="own")
    references = ["dos perros corren por la playa", "unos perros juegan"]
    found = cidery.explain("un perro corre por la playa", references, metrics=[metric])
    assert sum(span.value for span in found["meteor"].spans) == pytest.approx(found["meteor"].score)


def test_a_jar_without_the_list_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / meteor_table.JAR).write_bytes(b"no zip")
    monkeypatch.setattr(meteor_table, "find_sources", lambda: tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        cidery.Meteor(language="de").align("ein Hund", "ein Hund")


def test_what_meteor_knows() -> None:
    assert get_meteor_language("pt-BR").code == "pt"
    assert get_meteor_language("de").parameters == (0.95, 1.0, 0.55, 0.55, 1.0, 0.8, 0.0, 0.2)
