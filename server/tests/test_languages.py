"""Judges' pages in other languages, and sentences in other scripts."""

from __future__ import annotations

import pytest

from cidery_server.studies.sentences import SentenceRules, count_words
from server.tests.support.installations import Installation, Visitor
from server.tests.support.studies import choose_dog, join, make_links, make_study, triplets


@pytest.fixture(scope="module")
def owner(installation: Installation) -> Visitor:
    return installation.owner()


def test_a_study_in_german(installation: Installation, owner: Visitor) -> None:
    study = make_study(owner, triplets(2), judges_each=1, language="de", contact="ada@example.org")
    (link,) = make_links(owner, study)
    path = "/" + link.split("/", 3)[3]
    page = installation.visitor().get(path).text
    assert '<html lang="de">' in page
    for text in ("Ihre Einwilligung", "Ich nehme freiwillig teil", "Beginnen", "Fragen zu dieser"):
        assert text in page
    assert "Sie können nur teilnehmen" in installation.visitor().post(path, data={}).text
    judge = join(installation, link, study)
    task = judge.task()
    assert task["question"] == "Welcher der beiden Sätze, B oder C, ist A ähnlicher?"
    assert "Die Antwort ist 1 oder 2." in judge.try_answer(task, "3").text
    page = judge.visitor.get(f"/studies/{study}/task").text
    assert "0 von 2" in page and "Rückgängig" in page
    judge.answer_all(choose_dog)
    assert "Sie haben 2 Antworten gegeben." in judge.visitor.get(f"/studies/{study}/task").text
    # The owner's pages, and those of other studies, stay as they are.
    assert '<html lang="en">' in owner.get(f"/studies/{study}").text
    english = make_study(owner, triplets(1))
    (link,) = make_links(owner, english)
    assert "Your consent" in installation.visitor().get("/" + link.split("/", 3)[3]).text


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("a brown dog runs on the beach", 7),
        ("一只狗在海滩上奔跑", 6),  # jieba cuts it into 6
        ("犬がビーチを走っている", 7),
        ("สุนัขวิ่งบนชายหาด", 4),  # PyThaiNLP: 4
        ("कुत्ता समुद्र तट पर दौड़ता है", 6),
        ("כלב רץ על החוף", 4),
        ("", 0),
    ],
)
def test_words_of_scripts_without_blanks(sentence: str, words: int) -> None:
    from cidery_server.studies.sentences import fold

    assert abs(count_words(fold(sentence)) - words) <= 1


def test_a_chinese_sentence_is_accepted() -> None:
    rules = SentenceRules(min_words=8)
    assert rules.refuse("一只棕色的狗在阳光明媚的海滩上追着一个红色的球奔跑", known=()) == ""
    assert rules.refuse("一只狗", known=()) == "too short: 2 words, at least 8 are needed"
    assert rules.refuse("कुत्ता समुद्र के तट पर तेज़ी से दौड़ रहा है", known=()) == ""
