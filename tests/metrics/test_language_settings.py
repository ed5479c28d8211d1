"""What `language=` sets beside the tokenizer: stop words, and penalties that know English."""

from __future__ import annotations

import pytest

import cidery
from cidery.diversity import Lsa
from cidery.errors import SettingError
from cidery.metrics import Consensus, Irv, IrvUnigram, get_metrics
from cidery.text import LANGUAGES, STOP_WORDS, get_language

CAPTIONS = {
    "german": "Zwei Hunde rennen mit einem roten Ball über die Wiese",
    "french": "deux chiens courent avec un ballon rouge dans l'herbe",
    "spanish": "dos perros corren con una pelota roja por la hierba",
    "portuguese": "dois cachorros correm com uma bola vermelha na grama",
    "italian": "due cani corrono con una palla rossa sull'erba",
    "dutch": "twee honden rennen met een rode bal over het gras",
    "swedish": "två hundar springer med en röd boll över gräset",
    "danish": "to hunde løber med en rød bold over græsset",
    "norwegian": "to hunder løper med en rød ball over gresset",
    "polish": "dwa psy biegną z czerwoną piłką po trawie",
    "czech": "dva psi běží s červeným míčem po trávě",
    "russian": "две собаки бегут с красным мячом по траве",
}
CONTENT = {
    "german": "zwei hunde rennen roten ball wiese",
    "french": "deux chiens courent ballon rouge herbe",
    "spanish": "dos perros corren pelota roja hierba",
    "portuguese": "dois cachorros correm bola vermelha grama",
    "italian": "due cani corrono palla rossa erba",
    "dutch": "twee honden rennen rode bal gras",
    "swedish": "två hundar springer röd boll gräset",
    "danish": "to hunde løber rød bold græsset",
    "norwegian": "to hunder løper rød ball gresset",
    "polish": "dwa psy biegną czerwoną piłką trawie",
    "czech": "dva psi běží červeným míčem trávě",
    "russian": "две собаки бегут красным мячом траве",
}


@pytest.mark.parametrize("name", CAPTIONS)
def test_words_with_content_are_left(name: str) -> None:
    words = cidery.tokenize([CAPTIONS[name]], "words+clean")[0]
    assert [word for word in words if word not in STOP_WORDS[name]] == CONTENT[name].split()


def test_every_list_is_that_of_a_language() -> None:
    found = {language.stop_words for language in LANGUAGES.values()} - {None}
    assert found == set(STOP_WORDS)
    assert get_language("zh").stop_words == "chinese" and get_language("th").stop_words is None
    for words in STOP_WORDS.values():
        assert len(words) > 50 and all(word == word.lower() for word in words)


def test_a_language_chooses_stop_words() -> None:
    candidates = {"a": "der Hund und die Katze"}
    references = {"a": ["ein Hund und ein Vogel und der Baum"]}
    asked = ["irv-unigram", "irv-unigram:stop_words=none", "irv-unigram:stop_words=english"]
    german, none, english = cidery.score(
        candidates, references, asked, language="de"
    ).corpus.values()
    assert german != none and none == english
    table = cidery.score(candidates, references, "irv-unigram", language="de")
    assert "|stop_words:german|" in table.signatures["irv-unigram"]
    thai = get_metrics(["irv", "irv-unigram"], language="th")
    assert thai == {"irv": Irv(stop_words=None), "irv-unigram": IrvUnigram(stop_words=None)}
    assert "stop_words" not in IrvUnigram().settings()  # English is as it always was
    with pytest.raises(SettingError, match=r"one of english, chinese, .* or a file .*'klingon'"):
        IrvUnigram(stop_words="klingon")


def test_lsa_has_the_same_lists() -> None:
    sets = {"a": ["der Hund im Gras", "ein Hund und eine Katze"]}
    content = {"a": ["Hund Gras", "Hund Katze"]}
    found = cidery.measure_diversity(sets, measures=[Lsa("german")], tokenizer="words")
    assert found.corpus["lsa"] == pytest.approx(
        cidery.measure_diversity(content, measures=[Lsa()], tokenizer="words").corpus["lsa"]
    )


def test_penalties_that_know_english_are_off_elsewhere() -> None:
    metric = get_metrics(["consensus"], language="de")["consensus"]
    assert isinstance(metric, Consensus)
    assert (metric.rarity, metric.dangling, metric.oddity) == (0, 0, 0)
    assert metric.repetition == Consensus().repetition
    assert get_metrics(["consensus"], language="en") == {"consensus": Consensus()}
    chosen = get_metrics(["consensus:oddity=0.1"], language="de")["consensus:oddity=0.1"]
    assert isinstance(chosen, Consensus) and (chosen.dangling, chosen.oddity) == (0, 0.1)
    assert {"rarity": "0", "dangling": "0", "oddity": "0"}.items() <= metric.settings().items()


def test_consensus_is_made_for_english_unless_its_encoder_is_not() -> None:
    assert (
        get_metrics(["consensus"], language="de")["consensus"].needs.language == "en"
    )  # minilm is
    folder = Consensus(encoder="xlm-r", rarity=0, dangling=0, oddity=0)
    assert folder.needs.language is None and Consensus(encoder="xlm-r").needs.language == "en"
