"""What holds for captions in every script, and for text that is no language at all."""

from __future__ import annotations

import re
import unicodedata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import InputError, LanguageWarning
from cidery.text import LANGUAGES, SEGMENTERS
from support.markers import mark_metrics

ROOT = Path(__file__).parents[2]
METRICS = ["bleu", "rouge", "cider", "cider-d", "cider-r"]

ODD = {
    "unassigned": "a \u0378 \U000e0fff dog",
    "joiners": "क\u094d\u200dष का घर",
    "direction": "\u202bשלום\u202c עולם \u200fכלב",
    "emoji": "👩\u200d👩\u200d👧 🇩🇪 🏳️\u200d🌈 run",
    "marks alone": "\u0301\u0308 x\u0301\u0301\u0301",
    "noncharacter": "a \ufffe\uffff dog",
    "private": "\ue000 \uf8ff dog",
    "jamo": unicodedata.normalize("NFD", "개가 달린다 오늘"),
    "widths": "Ａ ｄｏｇ ｶﾞ ２",
    "separators": "a\u2028dog\u2029runs\u3000now\u00a0here",
    "astral": "𠀀𠀁 𝒶 dog",
    "control": "a\x00dog\x1b[0m\x85runs",
}


def load_table() -> Any:
    spec = spec_from_file_location("language_table", ROOT / "tools" / "make_language_table.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = load_table()
CAPTIONS = {code: pair[0] for code, pair in TABLE.SENTENCES.items()} | ODD


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.parametrize("tokenizer", ["ptb", "ptb-coco", "whitespace", "words", "char"])
def test_a_caption_is_its_own_best_match(tokenizer: str) -> None:
    """No crash, and no zero for a caption against itself where it has a word."""
    table = cidery.score(
        CAPTIONS, {name: [text] for name, text in CAPTIONS.items()}, METRICS, tokenizer=tokenizer
    )
    words = cidery.tokenize(CAPTIONS.values(), tokenizer)
    has_words = np.array([bool(found) for found in words])
    assert all(np.isfinite(values).all() for values in table.each.values())
    assert table.each["rouge-l"][has_words] == pytest.approx(1)
    assert table.each["bleu-1"][has_words] == pytest.approx(1)


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.parametrize("tokenizer", ["ptb", "words", "char"])
def test_normal_forms_score_alike(tokenizer: str) -> None:
    forms = [
        {name: unicodedata.normalize(form, text) for name, text in CAPTIONS.items()}
        for form in ("NFC", "NFD")
    ]
    references = {name: [text, "a dog"] for name, text in forms[0].items()}
    first, second = (
        cidery.score(captions, references, METRICS, tokenizer=tokenizer) for captions in forms
    )
    for metric, values in first.each.items():
        np.testing.assert_array_equal(values, second.each[metric])


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
@pytest.mark.parametrize("name", mark_metrics(["meteor", "spice", "consensus", "bertscore"]))
def test_metrics_with_data_take_any_text(name: str) -> None:
    """No crash and no number that is none; a caption against itself scores more than another."""
    references = {text: [text, "a dog"] for text in CAPTIONS.values()}
    table = cidery.score({text: text for text in references}, references, [name], tokenizer="ptb")
    other = cidery.score(
        dict.fromkeys(references, "two green chairs"), references, [name], tokenizer="ptb"
    )
    (own,), (others,) = table.each.values(), other.each.values()
    assert np.isfinite(own).all() and np.isfinite(others).all()
    has_words = np.array([bool(words) for words in cidery.tokenize(references, "ptb")])
    if name != "spice":  # which finds nothing in what is not English
        assert (own > others)[has_words].all()


def test_half_of_a_surrogate_pair_is_refused() -> None:
    for language in (None, "de", "km"):
        with pytest.raises(InputError, match="half of a surrogate pair"):
            cidery.score({1: "a dog\ud83d"}, {1: ["a dog"]}, language=language)


def test_what_cannot_be_cut_is_never_silently_zero() -> None:
    """A perfect paraphrase by characters that scores 0 by words is warned of."""
    for code in ("zh", "ja", "th"):
        candidate, reference = TABLE.SENTENCES[code]
        with pytest.warns(LanguageWarning, match=f'pass language="{code}"'):
            cidery.score({1: candidate}, {1: [reference]}, ["bleu-4"])


@pytest.mark.parametrize("code", TABLE.SENTENCES)
def test_the_table_of_the_page(code: str) -> None:
    segmenter = SEGMENTERS.get(LANGUAGES[code].tokenizer)
    if segmenter is not None and not segmenter.is_installed:
        pytest.skip(f"needs {' and '.join(segmenter.packages)}")
    page = (ROOT / "docs" / "languages.md").read_text(encoding="utf-8")
    assert re.search(rf"^{re.escape(TABLE.make_row(code))}$", page, re.MULTILINE)
