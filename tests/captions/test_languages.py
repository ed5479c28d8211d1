"""`language=`: tokenizers, spelling and stemmers of other languages."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cidery
from cidery.captions import segmenters
from cidery.captions.cleaning import clean_caption
from cidery.captions.languages import LANGUAGES, choose_tokenizer, get_language
from cidery.captions.segmenters import SEGMENTERS
from cidery.captions.tokenizers import get_stemmer, get_tokenizer
from cidery.errors import (
    DataError,
    LanguageWarning,
    MissingExtraError,
    SettingError,
    UnreliableWarning,
)

CUT = {
    "jieba": ("一个男人正在攀登雪山。", ["一个", "男人", "正在", "攀登", "雪山"]),
    "fugashi": (
        "男の人がスケートボードに乗る。",
        ["男", "の", "人", "が", "スケートボード", "に", "乗る"],
    ),
    "janome": ("犬が走る。", ["犬", "が", "走る"]),
    "kiwi": ("개가 달린다.", ["개", "가", "달리", "ᆫ다"]),
    "pythainlp": ("หมาวิ่งบนชายหาด", ["หมา", "วิ่ง", "บน", "ชายหาด"]),
    "pyvi": ("Một sinh viên đang học.", ["một", "sinh_viên", "đang", "học"]),
    "uax29": ("L'homme a 3.5 m, naïve!", ["l'homme", "a", "3.5", "m", "naïve"]),
}
SLOW = ("janome", "kiwi", "pyvi")
"""They take seconds to load. `CUT` is of Janome 0.5, kiwipiepy 0.24 and pyvi 0.1."""


NAMES = ["bleu", "rouge-l", "cider:idf=no"]


def skip_unless_installed(name: str) -> None:
    if not SEGMENTERS[name].is_installed:
        pytest.skip(f"needs {' and '.join(SEGMENTERS[name].packages)}")


@pytest.mark.parametrize("name", CUT)
def test_what_segmenters_cut(name: str) -> None:
    skip_unless_installed(name)
    caption, words = CUT[name]
    assert cidery.tokenize([caption, caption], name) == [words, words]
    assert get_tokenizer(name).id.startswith(f"{name}@{SEGMENTERS[name].packages[0]}-")


@pytest.mark.parametrize("name", [name for name in SEGMENTERS if name not in (*SLOW, "pkuseg")])
def test_segmenters_take_any_text(name: str) -> None:
    skip_unless_installed(name)
    cut = get_tokenizer(name)

    @given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=3))
    def check(captions: list[str]) -> None:
        for words in cut(captions).captions.tokens():
            assert all(word and any(map(str.isalnum, word)) for word in words)

    check()
    odd = ["", " ", "\u200b", "👩\u200d👧", "\U000e0001", "\u0378", "犬" * 300, "\u200fאב\u0301"]
    assert len(cidery.tokenize(odd, name)) == len(odd)


def test_missing_packages_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmenters, "_find_version", lambda _package: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cidery\[chinese\]'"):
        cidery.score({1: "狗"}, {1: ["狗"]}, ["bleu-1"], language="zh")
    with pytest.raises(MissingExtraError, match="pip install SudachiPy SudachiDict-core"):
        cidery.tokenize(["犬"], "sudachi")


def test_pkuseg_downloads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_unless_installed("pkuseg")
    monkeypatch.setenv("PKUSEG_HOME", "/nonexistent")
    with pytest.raises(DataError, match="pkuseg needs its model"):
        cidery.tokenize(["狗"], "pkuseg")


def test_cleaning() -> None:
    assert clean_caption("Ａ ｶﾞ　Cafe\u0301 do\u200bg\ufeff") == "a ガ café dog"
    assert clean_caption("ឆ្កែ\u200bមួយ") == "ឆ្កែ មួយ"  # there a zero-width space ends a word
    assert clean_caption("กำ") == "กำ"  # normal form KC would take the letter apart
    assert clean_caption("کتاب\u200cها") == "کتاب\u200cها"


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean_caption(text)
    assert clean_caption(once) == once or "İ" in text or once.lower() != once


def test_every_language_has_its_stemmer_and_tokenizer() -> None:
    for code, language in LANGUAGES.items():
        assert language.code == code and len(code) == 2
        if language.stemmer is not None:
            get_stemmer(language.stemmer)
        if language.tokenizer in SEGMENTERS:
            assert SEGMENTERS[language.tokenizer].language == code
            assert SEGMENTERS[language.tokenizer].extra is not None
    assert get_language("pt-BR") is get_language("portuguese") is LANGUAGES["pt"]
    with pytest.raises(SettingError, match="unknown language 'xx'; known: ar, bg"):
        get_language("xx")
    with pytest.raises(SettingError, match="not int"):
        get_language(5)


def test_a_language_chooses_tokenizer_stemmer_and_spelling() -> None:
    captions = {1: "Zwei ＨＵＮＤＥ laufen", 2: "ein Mann"}, {1: ["zwei Hunde"], 2: ["ein Mann"]}
    table = cidery.score(*captions, ["cider:idf=no", "rouge-l"], language="de")
    assert "|stemmer:german|" in table.signatures["cider:idf=no"]
    assert "|language:de|tokenizer:words+clean|" in table.signatures["rouge-l"]
    plain = cidery.score(
        {1: "zwei hunde laufen", 2: "ein mann"}, captions[1], ["rouge-l"], tokenizer="words"
    )
    assert table.corpus["rouge-l"] == plain.corpus["rouge-l"]
    assert "language" not in plain.signatures["rouge-l"]
    asked = cidery.score(
        captions[1], captions[1], ["cider:idf=no,stemmer=none"], language="de", tokenizer="ptb"
    )
    (signature,) = asked.signatures.values()
    assert "|stemmer:none|" in signature and "|language:de|tokenizer:ptb|" in signature


def test_english_is_what_it_was() -> None:
    captions = {1: "A dog's bone.", 2: "a cat"}, {1: ["the dog's bone"], 2: ["the cat"]}
    english = cidery.score(*captions, NAMES, language="en")
    usual = cidery.score(*captions, NAMES)
    assert dict(english.corpus) == dict(usual.corpus)
    assert "|tokenizer:ptb|" in usual.signatures["rouge-l"]


def test_chinese_with_jieba() -> None:
    skip_unless_installed("jieba")
    candidates = {1: "一个男人正在攀登雪山。", 2: "一个男人在打架子鼓。"}
    references = {1: ["一个男人正在雪山上攀登。", "一名男子在爬雪山。"], 2: ["男人在打架子鼓。"]}
    table = cidery.score(candidates, references, ["bleu-2", "rouge-l"], language="zh")
    assert table.corpus["bleu-2"] > 0.5
    assert "|language:zh|tokenizer:jieba@jieba-" in table.signatures["bleu-2"]
    described = cidery.describe(references, language="zh")
    assert described.problems == () and described.tokenizer.startswith("jieba@")


def test_another_language_than_the_one_asked_for_is_told() -> None:
    with pytest.warns(LanguageWarning) as told:
        cidery.score({1: "犬が走る"}, {1: ["犬が走る"]}, ["rouge-l"], language="lo")
    assert "captions are in Japanese, but the language asked for is 'lo'; pass language=\"ja\"" in (
        str(told[0].message)
    )
    with pytest.warns(LanguageWarning, match="in the language 'id'; what is made for English"):
        cidery.score(
            {1: "seekor anjing"},
            {1: ["anjing"]},
            ["cider-d"],
            language="id",
            tokenizer="ptb",
            frequencies="coco-val2014",
        )


def test_frequencies_of_a_language() -> None:
    """What the warning of few images says can be done."""
    captions = {1: "Zwei Ｈunde", 2: "ein Mann"}, {1: ["zwei Hunde"], 2: ["ein Mann"]}
    with pytest.warns(UnreliableWarning, match=r"frequencies build --tokenizer words\+clean`"):
        few = cidery.score(*captions, ["cider-d"], language="de")
    counted = cidery.DocumentFrequencies.from_references(captions[1], tokenizer="words+clean")
    table = cidery.score(*captions, ["cider-d"], language="de", frequencies=counted)
    assert table.corpus["cider-d"] == pytest.approx(few.corpus["cider-d"])


def test_tokenizers_of_a_language_compare_equal() -> None:
    assert choose_tokenizer(None, "de") == choose_tokenizer("words", "de")
    assert choose_tokenizer("ptb", "de") == replace(get_tokenizer("ptb"), language="de")
    assert choose_tokenizer(None, None) == get_tokenizer("ptb")


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys, cidery; cidery.score({1: 'a dog'}, {1: ['a dog']}, ['rouge-l']);"
        "print(sorted({'jieba', 'fugashi', 'regex', 'py3langid'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
