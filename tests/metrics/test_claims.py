"""Claims: cutting, reading, contradictions, faults and what follows from them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cidery.encoders import get_encoder
from cidery.metrics.claims.claim import MANY, Claim
from cidery.metrics.claims.contradictions import RULES, StatedClaim, states
from cidery.metrics.claims.extraction import (
    Description,
    Statement,
    collect_statements,
    extract_claims,
    split_sentences,
)
from cidery.metrics.claims.metric import encode_sentences, weigh, weigh_words
from cidery.metrics.claims.verdicts import (
    SENTENCE_WEIGHT,
    CaptionClaims,
    Judgment,
    ReferenceStatements,
    combine,
    find_faults,
    normalize,
)
from cidery.metrics.fluency import Faults, ReferenceWording


def same(one: str, other: str) -> bool:
    return one == other or {one, other} == {"sofa", "couch"}


def claim(kind: str, *parts: str, negated: bool = False, number: int = 0) -> Claim:
    words = tuple((place,) for place in range(len(parts)))
    return Claim(kind, parts, words, negated, number)  # type: ignore[arg-type]


def statement(kind: str, *parts: str) -> Statement:
    return Statement(claim(kind, *parts))


def find_reason(candidate: Claim, *reference: Claim) -> str | None:
    stated = [StatedClaim(known, number) for number, known in enumerate(reference)]
    return next((name for name, rule in RULES.items() if rule(candidate, stated, same)), None)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("A dog. It isn't black.", (("a", "dog"), ("it", "is", "not", "black"))),
        ("The man's hat\nis red!", (("the", "man", "'s", "hat"), ("is", "red"))),
        ("3.5 dogs, can’t run", (("3.5", "dogs", ",", "can", "not", "run"),)),
        ("", ()),
        ("... !!", ()),
    ],
)
def test_sentences_are_cut(text: str, sentences: tuple[tuple[str, ...], ...]) -> None:
    assert split_sentences(text).sentences == sentences


def test_words_know_their_places_in_any_script() -> None:
    text = "İstanbul’s “Café” isn’t here."
    cut = split_sentences(text)
    shown = [text[start:end] for start, end in cut.places]
    assert shown == ["İstanbul", "’s", "Café", "is", "n’t", "here"]
    assert cut.quotes == (("café", (2,)),)


def test_long_sentences_are_cut_into_pieces() -> None:
    assert [len(s) for s in split_sentences("dog " * 250).sentences] == [120, 120, 10]


@pytest.mark.parametrize(
    ("candidate", "reference", "reason"),
    [
        (claim("attribute", "dog", "red"), claim("attribute", "dog", "black"), "other color"),
        (claim("attribute", "dog", "red"), claim("attribute", "cat", "black"), None),
        (claim("attribute", "dog", "red"), claim("attribute", "dog", "colorful"), None),
        (claim("count", "dog", "five"), claim("object", "dog", number=2), "other count"),
        (claim("count", "dog", "five"), claim("object", "dog", number=1), "other count"),
        (claim("count", "dog", "five"), claim("object", "dog", number=MANY), None),
        (claim("count", "dog", "one"), claim("object", "dog", number=MANY), "other count"),
        (claim("object", "dog", negated=True), claim("object", "dog"), "denied"),
        (claim("object", "dog"), claim("object", "dog", negated=True), "denied"),
        (claim("object", "person", negated=True), claim("object", "boy"), "denied"),
        (claim("attribute", "man", "old"), claim("attribute", "man", "young"), "opposite"),
        (claim("attribute", "man", "stand"), claim("attribute", "man", "sit"), "opposite"),
        (claim("attribute", "cup", "stand"), claim("attribute", "cup", "sit"), None),
        (claim("object", "woman"), claim("object", "man"), "opposite"),
        (
            claim("place", "cat", "sit under", "sofa"),
            claim("place", "cat", "sit on", "couch"),
            "opposite",
        ),
        (
            claim("relation", "horse", "ride", "man"),
            claim("relation", "man", "ride", "horse"),
            "roles swapped",
        ),
        (
            claim("relation", "horse", "carry", "man"),
            claim("relation", "man", "ride", "horse"),
            "roles swapped",
        ),
        (
            claim("relation", "surfboard", "ride", "man"),
            claim("relation", "surfer", "ride", "wave"),
            "roles swapped",
        ),
        (claim("relation", "dog", "ride", "man"), claim("attribute", "boy", "ride"), None),
        (claim("place", "hat", "on", "man"), claim("relation", "man", "wear", "hat"), None),
        (
            claim("place", "bed", "lie on", "woman"),
            claim("place", "person", "sit on", "bed"),
            "roles swapped",
        ),
        (
            claim("place", "motorcycle", "on", "man"),
            claim("relation", "people", "ride", "motorcycle"),
            "roles swapped",
        ),
        (claim("place", "boy", "on", "man"), claim("place", "woman", "on", "man"), None),
        (claim("place", "man", "near", "dog"), claim("place", "dog", "near", "man"), None),
    ],
)
def test_contradictions(candidate: Claim, reference: Claim, reason: str | None) -> None:
    assert find_reason(candidate, reference) == reason


def test_a_count_is_contradicted_by_most_references_only() -> None:
    candidate = claim("count", "plane", "three")
    one, several = claim("object", "plane", number=1), claim("object", "plane", number=MANY)
    assert find_reason(candidate, one, several, several) is None
    assert find_reason(candidate, one, one, several) == "other count"


def test_numerals_and_digits_state_the_same() -> None:
    assert states(claim("count", "dog", "2"), claim("count", "dog", "two"), same)
    assert not states(claim("count", "dog", "3"), claim("count", "dog", "two"), same)


def test_faults_cost_fluency() -> None:
    for faults, fluency in [
        (Faults((), None, (), 10), 1.0),
        (Faults((), 9, (), 10), 0.8),
        (Faults((), None, (1, 2), 10), 0.9),
        (Faults((), None, (), 0), 1.0),
    ]:
        assert Judgment((), (), 0.0, 0.0, faults).fluency == pytest.approx(fluency)


def test_repetition_ignores_numbers_colors_and_negations() -> None:
    def find(*texts: str) -> tuple[int, ...]:
        wording = ReferenceWording.build([])
        return find_faults([tuple(text.split()) for text in texts], wording).repeated

    assert find("a red dog runs home and a blue dog runs off") == (6, 7, 8, 9)
    first = "two men ride on red horses"
    assert find(first, "five men ride on blue horses") == tuple(range(6, 12))
    assert find(first, "two men do not ride on red horses") == ()
    assert find(first, "two men not ride on red horses") == (6, 7, 9, 10, 11, 12)


def test_forms_of_a_word_say_the_same() -> None:
    assert weigh("kitchen") == weigh_words(["kitchens"], [statement("object", "kitchen")])[0]
    assert (
        weigh("ride") == weigh("riding") == weigh_words(["ridden"], [statement("object", "ride")])
    )
    assert weigh("qwxqwx") == weigh("zzzzzz") == pytest.approx(np.log(1000))


def read(words: str, *statements: Statement) -> CaptionClaims:
    """Read a caption whose words are their own directions: equal words have a cosine of 1."""
    names = ("dog", "red", "black", "cat", "sofa", "sits", "a")
    cut = tuple(words.split())
    vectors = np.asarray([[float(word == name) for name in names] for word in cut])
    description = Description((cut,), tuple((n, n + 1) for n in range(len(cut))))
    vectors = vectors.reshape(-1, 7)
    whole = normalize(vectors.sum(axis=0, keepdims=True))[: len(cut)]
    return CaptionClaims(description, statements, cut, vectors, np.ones(len(cut)), whole)


def test_a_judgment_follows_from_verdicts() -> None:
    dog = Statement(Claim("object", ("dog",), ((0,),), number=1))
    black = Statement(Claim("attribute", ("dog", "black"), ((0,), (1,))))
    red = Statement(Claim("attribute", ("dog", "red"), ((0,), (1,))))
    cat = Statement(Claim("object", ("cat",), ((2,),)))
    references = ReferenceStatements([read("dog black", dog, black)], same, lambda *_: 0.0)
    right = references.judge(read("dog black", dog, black))
    assert [found.verdict for found in right.findings] == ["supported", "supported"]
    assert (right.precision, right.recall, right.f) == pytest.approx((1.0, 1.0, 1.0))
    wrong = references.judge(read("dog red cat", dog, red, cat))
    assert [found.verdict for found in wrong.findings] == [
        "supported",
        "contradicted",
        "unsupported",
    ]
    assert wrong.contradictions == 1
    close = 1 / 6**0.5  # of the two sentences
    assert [found.support for found in wrong.findings] == [
        pytest.approx(1 - SENTENCE_WEIGHT + SENTENCE_WEIGHT * close),
        0.0,
        pytest.approx(SENTENCE_WEIGHT * close),
    ]
    assert wrong.precision == pytest.approx((1 - SENTENCE_WEIGHT + 2 * SENTENCE_WEIGHT * close) / 3)
    assert (wrong.coverage, wrong.amount, wrong.recall) == (0.5, 0.5, 0.5)
    assert wrong.f == pytest.approx(combine(wrong.precision, 0.5) * wrong.fluency)


def test_claims_are_weighted_by_idf() -> None:
    dog = Statement(Claim("object", ("dog",), ((0,),)))
    cat = Statement(Claim("object", ("cat",), ((1,),)))
    references = ReferenceStatements([read("dog", dog)], same, lambda *_: 0.0)
    plain = read("dog cat", dog, cat)
    rarely = replace(plain, weights=np.asarray([1.0, 9.0]))
    first, second = (references.judge(caption) for caption in (plain, rarely))
    one, other = (found.support for found in first.findings)
    assert first.precision == pytest.approx((one + other) / 2)
    assert second.precision == pytest.approx((one + 3 * other) / 4)


def test_amount_is_at_most_one() -> None:
    dog, cat = (Statement(Claim("object", (n,), ((p,),))) for p, n in enumerate(("dog", "cat")))
    references = ReferenceStatements(
        [read("dog cat", dog, cat), read("dog", dog)], same, lambda *_: 0.0
    )
    amounts = [references.judge(read(text, dog)).amount for text in ("dog", "dog dog", "dog cat")]
    assert amounts == [pytest.approx(1 / 1.5), pytest.approx(1 / 1.5), 1.0]


def test_nothing_said_or_told_scores_zero() -> None:
    dog = Statement(Claim("object", ("dog",), ((0,),)))
    nothing = ReferenceStatements([read("")], same, lambda *_: 0.0)
    assert nothing.judge(read("dog", dog)).f == 0.0
    assert ReferenceStatements([read("dog", dog)], same, lambda *_: 0.0).judge(read("")).f == 0.0


def test_pronouns_stand_for_earlier_things() -> None:
    dog, ball = (claim("object", name, number=1) for name in ("dog", "ball"))
    known = {
        ("a", "dog"): (dog,),
        ("it", "holds"): (claim("relation", "it", "hold", "ball"), ball),
        ("he", "runs"): (claim("attribute", "he", "run"),),
    }
    cut = Description(tuple(known), ((0, 1),) * 6)
    texts = [str(found.claim) for found in collect_statements(cut, known)]
    assert texts == ["dog", "dog hold ball", "ball", "ball: run"]


def test_a_sentence_that_adds_nothing_is_repeated() -> None:
    dog = (claim("object", "dog"), claim("attribute", "dog", "black"))
    more = (claim("object", "dog"), claim("attribute", "dog", "big"))
    cut = Description((("a",), ("a",), ("b",), ("c",)), ((0, 1),) * 4)
    found = collect_statements(cut, {("a",): dog, ("b",): more, ("c",): ()})
    assert [(str(s.claim), s.repeated) for s in found] == [
        ("dog", False),
        ("dog: black", False),
        ("dog", True),
        ("dog: black", True),
        ("dog: big", False),
        ("(nothing)", False),
    ]
    assert found[-1].claim.kind == "nothing"


def test_a_sentence_that_says_otherwise_adds_nothing() -> None:
    two, five = claim("count", "dog", "two"), claim("count", "dog", "five")
    dog, none = claim("object", "dog"), claim("object", "dog", negated=True)
    cut = Description((("a",), ("b",), ("c",)), ((0, 1),) * 3)
    found = collect_statements(cut, {("a",): (dog, two), ("b",): (dog, five), ("c",): (none,)})
    assert [(str(s.claim), s.repeated, s.varied) for s in found] == [
        ("dog", False, False),
        ("two dog", False, False),
        ("dog", True, False),
        ("five dog", False, True),
        ("not dog", False, True),
    ]
    references = ReferenceStatements([read("dog", Statement(dog))], same, lambda *_: 0.0)
    finding = references.judge(read("dog", Statement(dog, varied=True))).findings[0]
    assert (finding.verdict, finding.reason) == ("contradicted", "contradicts an earlier sentence")


def test_a_wrong_number_is_worse_the_farther_it_is() -> None:
    reference = Statement(Claim("object", ("dog",), ((0,),), number=2))
    references = ReferenceStatements([read("dog a", reference)], same, lambda *_: 0.0)
    supports = []
    for numeral in ("three", "ten"):
        candidate = Statement(Claim("count", ("dog", numeral), ((0,), (1,))))
        (finding,) = references.judge(read("dog a", candidate)).findings
        assert finding.verdict == "contradicted"
        supports.append(finding.support)
    assert supports == [pytest.approx(0.2 * 2 / 3), pytest.approx(0.2 * 2 / 10)]


def test_words_that_state_nothing_cover_nothing() -> None:
    dog, cat = (Statement(Claim("object", (name,), ((0,),))) for name in ("dog", "cat"))
    filler = Statement(Claim("nothing", ("",), ((0, 1),)))
    references = ReferenceStatements([read("dog", dog)], same, lambda *_: 0.0)
    assert references.judge(read("dog", dog)).recall == 1.0
    assert references.judge(read("dog sits", filler)).recall == 0.0
    assert references.judge(read("cat dog", cat)).coverage == 1.0
    assert references.judge(read("cat dog", cat)).amount == 0.0  # nothing of it is supported


def test_a_color_covers_what_has_it() -> None:
    reference = Statement(Claim("attribute", ("dog", "red"), ((0,), (1,))))
    references = ReferenceStatements([read("dog red", reference)], same, lambda *_: 1.0)
    dog, cat = (Statement(Claim("object", (n,), ((p,),))) for n, p in (("dog", 0), ("cat", 1)))
    red = [
        Statement(Claim("attribute", (n, "red"), ((p,), (2,)))) for n, p in (("dog", 0), ("cat", 1))
    ]
    assert references.judge(read("dog cat red", dog, cat, red[0])).coverage == 1.0
    assert references.judge(read("dog cat red", dog, cat, red[1])).coverage == 0.0


def test_any_sentence_may_dangle() -> None:
    wording = ReferenceWording.build([("a", "dog", "on", "a", "sofa")])
    whole = find_faults((("a", "dog", "in"), ("it", "sits")), wording)
    assert whole.dangling == 2


def test_colors_and_denials_leave_other_words_alone() -> None:
    def encode(texts: list[str]) -> Any:
        seen.extend(texts)
        return [(text.split(), np.eye(4)[: len(text.split())]) for text in texts]

    seen: list[str] = []
    sentences = [("a", "red", "dog"), ("no", "blue", "dog"), ("two", "dogs", "not", "red")]
    found = encode_sentences(get_encoder(encode), sentences, 1)
    assert set(seen) == {"a dog", "dogs red"}
    first, second, third = (found[sentence] for sentence in sentences)
    assert (first.words[2] == second.words[2]).all()
    assert abs(first.words[1] @ second.words[1]) < 1.0
    assert not third.words[2].any()  # `not`
    assert (first.whole == second.whole).all()


@pytest.mark.model
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Two brown dogs chase a cat on the grass.", {"two dog", "dog: brown", "dog chase cat"}),
        ("A man is not riding a horse.", {"not man ride horse"}),
        ("There is no dog on the sofa.", {"not dog"}),
        ("There isn't a black dog.", {"not dog", "not dog: black"}),
        ("The girls aren't in a car.", {"not girl in car"}),
        ("Nobody is riding the horse.", {"not person", "not person ride horse"}),
        ("No one sits.", {"not person: sit"}),
        ("Someone rides a horse.", {"person ride horse"}),
        ("A man is ridden by a horse.", {"horse ride man"}),
        ("A street without cars.", {"not street without car", "not car"}),
        ("A ball is held by a girl.", {"girl hold ball"}),
        ("A black dog. It holds a ball in its mouth.", {"dog hold ball", "dog have mouth"}),
        ("Two women. They are smiling.", {"woman: smile"}),
        ("A house. A man stands in front of it.", {"man stand in front of house"}),
        ('A sign says "STOP".', {'"stop"'}),
        ("The image shows a dog.", {"dog"}),
        ("A black and white photo of a dog.", {"photo: black", "photo: white", "dog"}),
        ("A orange teddy bear sits on a chair.", {"bear: orange"}),
    ],
)
def test_claims_are_read(text: str, expected: set[str]) -> None:
    from support.available import skip_unless_available

    skip_unless_available("spice")
    from cidery.metrics.spice.parser import load_parser

    cut = split_sentences(text)
    found = collect_statements(cut, extract_claims(load_parser(), cut.sentences, 1))
    texts = {str(statement.claim) for statement in found}
    assert expected <= texts
    assert not any("image" in text for text in texts)
