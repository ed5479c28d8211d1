"""Credit per n-gram: sums to the reward, and is what its definition says."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import cidery
from cidery.errors import SettingError
from support.example import Example

METRICS = [
    "cider",
    "cider:faithful=coco",
    "cider:over=max",
    "cider:weights=exponential",
    "cider-d",
    "cider-d:faithful=paper",
    "cider-r",
    "cider-r:faithful=paper",
]


@pytest.mark.parametrize("metric", METRICS)
def test_values_sum_to_the_reward_exactly(example: Example, metric: str) -> None:
    candidates, references = example.many(150)
    reward = cidery.Reward(references, metric)
    captions = list(candidates.values())
    captions[1::2] = [f"{caption} {caption}" for caption in captions[1::2]]
    expected = reward(list(candidates), captions)
    credits = reward.credit(list(candidates), captions)
    assert np.count_nonzero(expected) > 100
    for credit, value in zip(credits, expected, strict=True):
        assert credit.reward == value
        assert math.fsum(ngram.value for ngram in credit.ngrams) == value
        for ngram in credit.ngrams:
            assert ngram.earned >= 0 >= ngram.cost
            assert ngram.value == pytest.approx(ngram.earned + ngram.cost, abs=1e-12)
        assert math.fsum(n.earned + n.cost for n in credit.ngrams) == pytest.approx(value)


def plain_credit(
    caption: str, references: list[str], counts: cidery.DocumentFrequencies, sigma: float = 6.0
) -> dict[tuple[str, ...], tuple[float, float]]:
    """CIDEr-D's credit as the definition says, n-gram by n-gram, without the library's core."""

    def vector(words: list[str], n: int) -> dict[tuple[str, ...], float]:
        ngrams = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
        return {
            g: k * (counts.log_image_count - math.log(max(1, counts.count(g))))
            for g, k in ngrams.items()
        }

    credit: dict[tuple[str, ...], tuple[float, float]] = {}
    words = caption.split()
    for n in (1, 2, 3, 4):
        mine = vector(words, n)
        credit |= dict.fromkeys(mine, (0.0, 0.0))
        for reference in references:
            theirs = vector(reference.split(), n)
            shared = {g: min(w, theirs.get(g, 0.0)) for g, w in mine.items()}
            norm, shared_norm, their_norm = (
                math.sqrt(sum(w * w for w in v.values())) for v in (mine, shared, theirs)
            )
            if shared_norm * their_norm == 0:
                continue
            distance = len(words) - len(reference.split())
            share = 10 / 4 / len(references) * math.exp(-(distance**2) / (2 * sigma**2))
            gains = {
                g: share * shared[g] * theirs.get(g, 0.0) / (shared_norm * their_norm) for g in mine
            }
            lost = sum(gains.values()) * (1 - shared_norm / norm)
            excess = norm**2 - shared_norm**2
            for g, (earned, cost) in list(credit.items()):
                if g in mine:
                    part = (mine[g] ** 2 - shared[g] ** 2) / excess if excess > 1e-9 else 0.0
                    credit[g] = (earned + gains[g], cost - lost * part)
    return credit


def test_it_is_what_the_definition_says(example: Example) -> None:
    candidates, references = example.many(120)
    spelled = {i: [" ".join(t) for t in cidery.tokenize(group)] for i, group in references.items()}
    counts = cidery.DocumentFrequencies.from_references(spelled, tokenizer="whitespace")
    reward = cidery.Reward(spelled, "cider-d", frequencies=counts, tokenizer="whitespace")
    captions = [" ".join(words) for words in cidery.tokenize(candidates.values())]
    for image, caption, credit in zip(
        candidates, captions, reward.credit(list(candidates), captions), strict=True
    ):
        expected = plain_credit(caption, spelled[image], counts)
        assert [ngram.words for ngram in credit.ngrams] == list(expected)
        for ngram in credit.ngrams:
            assert (ngram.earned, ngram.cost) == pytest.approx(expected[ngram.words], abs=1e-9)


@pytest.fixture
def references() -> dict[str, list[str]]:
    rest = {f"other {i}": [f"the {word} is here"] for i, word in enumerate("abcdefgh")}
    return {"dogs": ["a dog runs on grass"], "cats": ["a cat sleeps"], **rest}


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
class TestWhatItShows:
    def values(self, references: dict[str, list[str]], caption: str) -> dict[str, float]:
        reward = cidery.Reward(references, "cider-d")
        [credit] = reward.credit(["dogs"], [caption])
        return {" ".join(ngram.words): ngram.value for ngram in credit.ngrams}

    def test_a_word_that_nobody_said_costs(self, references: dict[str, list[str]]) -> None:
        values = self.values(references, "a dog runs on concrete")
        assert values["dog"] > 0 > values["concrete"]
        assert values["on concrete"] < 0

    def test_a_repeated_word_earns_less_than_once(self, references: dict[str, list[str]]) -> None:
        once = self.values(references, "a dog runs on grass")
        thrice = self.values(references, "a dog dog dog runs on grass")
        assert thrice["dog"] < once["dog"]
        assert thrice["dog dog"] < 0

    def test_a_perfect_caption_has_no_costs(self, references: dict[str, list[str]]) -> None:
        [credit] = cidery.Reward(references).credit(["dogs"], ["a dog runs on grass"])
        assert credit.reward == pytest.approx(10)
        assert all(ngram.cost == 0 for ngram in credit.ngrams)
        assert credit.ranked()[0].value == max(ngram.value for ngram in credit.ngrams)

    def test_a_mix_of_metrics_shares_n_grams(self, references: dict[str, list[str]]) -> None:
        reward = cidery.Reward(references, {"cider-d": 1.0, "cider-r": -0.5})
        [credit] = reward.credit(["dogs"], ["a dog dog sleeps"])
        words = [ngram.words for ngram in credit.ngrams]
        assert len(words) == len(set(words))
        assert math.fsum(ngram.value for ngram in credit.ngrams) == credit.reward
        assert credit.reward == reward(["dogs"], ["a dog dog sleeps"])[0]

    def test_token_ids_get_credit_too(self, references: dict[str, list[str]]) -> None:
        vocabulary = ["a", "dog", "runs", "cat"]
        reward = cidery.Reward(references, "cider-r", vocabulary=vocabulary)
        by_ids, by_text = (
            reward.credit(["dogs"], captions) for captions in ([[0, 1, 3]], ["a dog cat"])
        )
        assert by_ids == by_text

    def test_empty_and_worthless_captions(self, references: dict[str, list[str]]) -> None:
        reward = cidery.Reward(references, "cider-d")
        assert reward.credit([], []) == []
        empty, worthless = reward.credit(["dogs", "dogs"], ["", "xyzzy"])
        assert empty.ngrams == ()
        assert (empty.reward, worthless.reward) == (0.0, 0.0)
        assert [ngram.value for ngram in worthless.ngrams] == [0.0]

    def test_other_metrics_give_none(self, references: dict[str, list[str]]) -> None:
        reward = cidery.Reward(references, {"cider-d": 1.0, "bleu-4": 0.5})
        with pytest.raises(SettingError, match="not for bleu-4, which is not a sum over n-grams"):
            reward.credit(["dogs"], ["a dog"])
