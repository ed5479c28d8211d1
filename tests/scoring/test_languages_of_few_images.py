"""Advice on document frequencies of few images depends on the language of the captions."""

from __future__ import annotations

import pytest

import cidery
from cidery.errors import LanguageWarning, UnreliableWarning
from cidery.text import ScannedCaptions
from cidery.text.script_problems import find_script_problems

CAPTIONS = {
    "zh": ["一只狗在海滩上奔跑", "狗在沙滩上跑"],
    "ar": ["كلب يركض على الشاطئ الرملي قرب البحر", "الكلب البني يجري على الرمال"],
    "pt": ["um cachorro corre na areia da praia", "o cão marrom está correndo perto do mar"],
    "en": ["a brown dog runs along the beach", "the dog is running on the sand by the sea"],
}


@pytest.mark.filterwarnings("ignore::cidery.errors.LanguageWarning")
@pytest.mark.parametrize("language", CAPTIONS)
def test_no_english_frequencies_for_other_languages(language: str) -> None:
    if language == "pt":
        pytest.importorskip("py3langid", reason="the extra languages is not installed")
    captions = CAPTIONS[language]
    references = dict.fromkeys(range(6), captions)
    with pytest.warns(UnreliableWarning, match="counted on only 6 images") as warned:
        cidery.score(dict.fromkeys(references, captions[0]), references, ["cider-d"])
    (text,) = [str(w.message) for w in warned if "6 images" in str(w.message)]
    assert ("coco-val2014" in text) == (language == "en")
    advice = " ".join(cidery.describe(references).advice)
    assert ("coco-val2014" in advice) == (language == "en")
    if language == "zh":
        assert "`cidery frequencies build --language zh`" in text


MARKED = "كَلْبٌ يَجْرِي عَلَى الشَّاطِئِ"
UNMARKED = "كلب يجري على الشاطئ"


def test_arabic_vowel_marks() -> None:
    references = {image: [UNMARKED, f"{UNMARKED} البعيد"] for image in range(3)}
    message = "candidates: 3 of 3 captions have Arabic vowel marks, and a word with marks"
    candidates = {image: f"{MARKED} {image}" for image in references}
    with pytest.warns(LanguageWarning, match=message):
        cidery.score(candidates, references, ["rouge-l"], language="ar")
    tokenizer = cidery.Pipeline.choose("rouge-l", language="ar").tokenizer
    for captions in (MARKED, UNMARKED):
        assert not find_script_problems({"all": ScannedCaptions([captions] * 3)}, tokenizer)
