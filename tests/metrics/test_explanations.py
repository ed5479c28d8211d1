"""What explanations say, metric by metric, against figures taken by hand."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.metrics.explanations import (
    Contributions,
    Explanation,
    Span,
    merge_spans,
    reconcile_spans,
    split_loss,
    split_score,
)
from cidery.metrics.ngram.matches import find_common, list_pairs, weigh_common
from cidery.metrics.spice.matching import ReferenceScene

REFERENCES = ["a dog is sleeping on a sofa", "the brown dog naps beside a pillow"]


def words(explanation: Explanation) -> dict[str, Span]:
    return {explanation.candidate[s.start : s.end]: s for s in explanation.spans}


def lacking(explanation: Explanation) -> list[list[str]]:
    return [
        [text[s.start : s.end] for s in spans]
        for text, spans in zip(explanation.references, explanation.reference_spans, strict=True)
    ]


class TestSharing:
    def test_what_matches_earns_and_what_does_not_costs(self) -> None:
        assert split_score(0.6, 1.0, [1, 1, 0], [0, 0, 1]) == pytest.approx([0.5, 0.5, -0.4])
        assert split_score(0.6, 1.0, [1, 2], [0, 0]) == pytest.approx([0.2, 0.4])
        assert split_score(0.0, 0.5, [0, 0], [1, 1]) == [0, 0]
        assert split_loss(0.6, 1.0, [0, 3, 1]) == pytest.approx([0, -0.3, -0.1])
        assert split_loss(0.6, 1.0, [0, 0]) == [0, 0]

    def test_spans_sum_to_the_score_exactly(self) -> None:
        spans = [Span(i, i + 1, value) for i, value in enumerate([0.1, 0.2, 0.3])]
        balanced, rest = reconcile_spans(0.6, spans)
        assert math.fsum(span.value for span in balanced) == 0.6 and rest == 0
        assert [span.value for span in balanced] == pytest.approx([0.1, 0.2, 0.3])
        unchanged, rest = reconcile_spans(0.7, spans, exact=False)
        assert unchanged == tuple(spans) and rest == pytest.approx(0.1)
        assert reconcile_spans(0.5, []) == ((), 0.5)

    def test_spans_that_overlap_become_one(self) -> None:
        one = [Span(0, 3, 1.0, "x"), Span(4, 9, 2.0, "y")]
        other = [Span(4, 6, 1.0, "z"), Span(6, 9, 1.0)]
        assert merge_spans([one, other], [1, 0.5]) == [
            Span(0, 3, 1.0, "x"),
            Span(4, 9, 3.0, "z; y"),
        ]

    def test_a_metric_without_words_leaves_the_score_whole(self) -> None:
        found = Explanation.build(
            "m", "a dog", ("a cat",), Contributions(0.5, (), [()], exact=False)
        )
        assert found.spans == () and found.rest == 0.5
        assert found.table().cells == [["(rest)", "+0.5000", "belongs to no word"]]


class TestNgrams:
    def test_cider_is_the_credit_of_n_grams_spread_over_words(self) -> None:
        """`credit` is checked against the definition in tests/rewards."""
        caption = "a dog dog runs on a sofa"
        found = cidery.explain(caption, REFERENCES, ["cider-d"])["cider-d"]
        reward = cidery.Reward({0: REFERENCES}, frequencies="coco-val2014")
        [credit] = reward.credit([0], [caption])
        words_of_caption = caption.split()
        expected = [0.0] * len(words_of_caption)
        for ngram in credit.ngrams:
            n = len(ngram.words)
            starts = [
                i
                for i in range(len(words_of_caption))
                if tuple(words_of_caption[i : i + n]) == ngram.words
            ]
            assert len(starts) == ngram.count
            for place in (start + k for start in starts for k in range(n)):
                expected[place] += ngram.value / len(starts) / n
        assert [span.value for span in found.spans] == pytest.approx(expected)
        assert words(found)["dog"].note == "in 2 of 2 references"
        assert words(found)["runs"].note == "in no reference"
        assert words(found)["runs"].value < 0 < words(found)["sofa"].value
        assert lacking(found)[0] == ["is", "sleeping"]

    def test_a_caption_equal_to_a_reference_lacks_nothing_of_it(self) -> None:
        found = cidery.explain(REFERENCES[0], REFERENCES, ["cider-d"])["cider-d"]
        assert lacking(found)[0] == []
        # Lacking everything costs what the reference could give: 10 / 2.
        other = cidery.explain("xyz", REFERENCES, ["cider-d"])["cider-d"]
        for spans in other.reference_spans:
            assert math.fsum(span.value for span in spans) == pytest.approx(-5)

    def test_bleu(self) -> None:
        # Unigrams 2 of 3, bigrams 1 of 2, as long as the reference: √(1/3).
        found = cidery.explain("a dog flies", ["a dog runs"], ["bleu-2"])["bleu-2"]
        score = math.sqrt(1 / 3)
        assert found.score == pytest.approx(score, abs=1e-8)
        assert found.parts == pytest.approx(
            {"precision 1": 2 / 3, "precision 2": 0.5, "brevity": 1}
        )
        lost = 1 - score
        first, second = math.log(3 / 2) / math.log(3), math.log(2) / math.log(3)
        expected = [0.5, 0.5 - lost * second / 2, -lost * (first + second / 2)]
        assert [span.value for span in found.spans] == pytest.approx(expected, abs=1e-8)
        assert lacking(found) == [["runs"]]

    def test_a_short_caption_shares_what_brevity_leaves(self) -> None:
        found = cidery.explain("a dog", ["a dog runs fast"], ["bleu-1"])["bleu-1"]
        assert found.score == pytest.approx(math.exp(-1))
        assert found.parts["brevity"] == pytest.approx(math.exp(-1))
        assert [span.value for span in found.spans] == pytest.approx([math.exp(-1) / 2] * 2)

    def test_rouge_l(self) -> None:
        # Common with the second: a … dog; P = 2/3, R = 2/2 of it.
        metric = "rouge-l:beta=1"
        [found] = cidery.explain("a big dog", ["a cat", "a dog"], [metric]).values()
        assert found.score == pytest.approx(0.8)
        assert found.parts == pytest.approx({"precision": 2 / 3, "recall": 1})
        assert [span.value for span in found.spans] == pytest.approx([0.5, -0.2, 0.5])
        assert [span.note for span in found.spans] == ["in common", "not in common", "in common"]
        assert lacking(found) == [["cat"], []]

    def test_rouge_recall_forgives_what_is_extra(self) -> None:
        found = cidery.explain("a big dog", ["a dog runs"], ["rouge-1"])["rouge-1"]
        assert [span.value for span in found.spans] == pytest.approx([1 / 3, 0, 1 / 3])
        assert lacking(found) == [["runs"]]
        assert found.reference_spans[0][0].value == pytest.approx(-1 / 3)

    def test_longest_common_subsequences(self) -> None:
        rng = np.random.default_rng(0)
        for _ in range(60):
            one, other = (list(rng.choice(list("abcd"), rng.integers(0, 12))) for _ in range(2))
            places = list(find_common(one, other))[::-1]
            assert all(one[i] == other[j] for i, j in places)
            assert all(a < c and b < d for (a, b), (c, d) in pairwise(places))
            lengths = np.zeros((len(one) + 1, len(other) + 1), int)
            for i, word in enumerate(one):
                for j, there in enumerate(other):
                    best = lengths[i, j] + 1 if word == there else 0
                    lengths[i + 1, j + 1] = max(best, lengths[i, j + 1], lengths[i + 1, j])
            assert len(places) == lengths[-1, -1]

    def test_weighted_common_subsequences(self) -> None:
        """A run of k words counts k ** 2; the words are those of the common subsequence."""
        rng = np.random.default_rng(0)
        for _ in range(60):
            one, other = (list(rng.choice(list("abcd"), rng.integers(0, 12))) for _ in range(2))
            places, added = weigh_common(one, other, 2.0)
            assert all(one[i] == other[j] for i, j in places)
            assert all(a > c and b > d for (a, b), (c, d) in pairwise(places))
            run, expected = 0, []
            previous = (-2, -2)
            for i, j in reversed(places):
                run = run + 1 if (i, j) == (previous[0] + 1, previous[1] + 1) else 1
                expected.append(run**2 - (run - 1) ** 2)
                previous = (i, j)
            assert added[::-1] == expected
        assert weigh_common(["a", "b", "x", "c"], ["a", "b", "c"], 2.0) == (
            [(3, 2), (1, 1), (0, 0)],
            [1.0, 3.0, 1.0],
        )

    def test_pairs_with_words_between(self) -> None:
        words = ["a", "b", "c", "d"]
        assert [places for _, places in list_pairs(words, 0)] == [(0, 1), (1, 2), (2, 3)]
        assert len(list_pairs(words, 1)) == 5
        assert len(list_pairs(words, None)) == 6
        assert list_pairs(words, 1)[1] == (("a", "c"), (0, 2))

    @pytest.mark.parametrize("name", ["rouge-s:skip=none", "rouge-w"])
    def test_captions_too_long_to_compare_are_left_whole(self, name: str) -> None:
        long = "dog cat " * 600
        [found] = cidery.explain(long, [long], [name]).values()
        assert found.spans == () and found.rest == found.score > 0


class TestModels:
    CAPTION = "A puppy sleeps on the couch with a ball."

    def test_bertscore_names_the_nearest_words(self, minilm: Any) -> None:
        metric = cidery.BertScore(encoder=minilm)
        found = cidery.explain(self.CAPTION, REFERENCES, [metric])["bertscore"]
        assert words(found)["sleeps"].note.startswith("nearest: sleeping (0.")
        assert words(found)["ball"].note.endswith("no match")
        assert words(found)["ball"].value < words(found)["sleeps"].value
        assert "brown" in lacking(found)[1] and "the" not in lacking(found)[1]
        assert found.parts["reference"] == 1

    def test_recall_goes_to_the_nearest_words(self, minilm: Any) -> None:
        metric = cidery.BertScore(encoder=minilm, measure="recall", over="mean")
        found = cidery.explain(self.CAPTION, REFERENCES, [metric])["bertscore-recall"]
        assert all(span.value >= 0 for span in found.spans)
        assert words(found)["puppy"].value > words(found)["with"].value

    def test_a_word_that_matches_anywhere_is_not_missing(self) -> None:
        """`dog` of the second reference is far from everything, that of the first is not."""

        def look_up(captions: Any) -> Any:
            vectors = {"cat": [0.8, 0.6], "dog": [1, 0], "far dog": [0, 1]}
            return [([c.split()[-1]], np.asarray([vectors[c]])) for c in captions]

        metric = cidery.BertScore(encoder=look_up)
        found = cidery.explain("cat", ["dog", "far dog"], [metric])["bertscore"]
        assert found.reference_spans == ((), ())
        assert found.spans == (Span(0, 3, found.score, "nearest: dog (0.80)"),)

    def test_words_that_an_encoder_makes_up_have_no_place(self) -> None:
        def letters(captions: Any) -> Any:
            return [
                (["<start>", *c.split()], np.eye(3)[[2, *map(len, c.split())]]) for c in captions
            ]

        metric = cidery.BertScore(encoder=letters)
        found = cidery.explain("a b", ["b"], [metric])["bertscore"]
        assert found.score == pytest.approx(1)
        assert [found.candidate[s.start : s.end] for s in found.spans] == ["a", "b"]

    def test_irv_unigram(self) -> None:
        metric = "irv-unigram:idf=no"
        [found] = cidery.explain("a dog runs", ["a dog barks", "the dog"], [metric]).values()
        # All that matches is equal, so recall is 1; of the words with content, dog and barks.
        assert found.score == 0.5
        assert [span.value for span in found.spans] == [0, 0.5, 0]
        assert sorted(lacking(found)) == [[], ["barks"]]
        assert found.parts == {"recall": 1, "recall of words with content": 0.5}


@pytest.mark.usefixtures("parser")
class TestSpice:
    def test_tuples_are_shared_by_the_words_that_they_name(self) -> None:
        caption = "a brown dog sleeps on two sofas"
        metric = cidery.Spice(faithful="paper")
        found = cidery.explain(caption, ["a dog on a sofa"], [metric])["spice"]
        spans = words(found)
        assert spans["dog"].note == "matched: (dog)"
        assert spans["brown"].note == "extra: (dog, brown)"
        assert spans["sofas"].note == "matched: (sofa)"
        assert spans["brown"].value < 0 < spans["dog"].value == spans["sofas"].value
        assert found.rest == 0

    def test_spider_is_half_of_both(self) -> None:
        captions = "a brown dog runs", ["a dog runs on grass", "a brown animal"]
        found = cidery.explain(*captions, ["spider", "spice", "cider-d"])
        spider, spice, cider = found.values()
        assert spider.parts == {"spice": spice.score, "cider-d": cider.score}
        halves = words(spice)["dog"].value / 2 + words(cider)["dog"].value / 2
        assert words(spider)["dog"].value == pytest.approx(halves)

    @pytest.mark.parametrize("name", ["spice", "spider"])
    def test_scene_graphs_are_matched_once_per_caption(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = []
        compare = ReferenceScene.compare

        def count(scene: ReferenceScene, *arguments: Any) -> Any:
            calls.append(scene)
            return compare(scene, *arguments)

        monkeypatch.setattr(ReferenceScene, "compare", count)
        captions = {"a": "a brown dog runs", "b": "two cats on a bed"}
        references = {"a": ["a dog runs on grass"], "b": ["a cat sleeps on a bed"]}
        explained = cidery.explain_captions(
            captions, references, ["a", "b"], name, frequencies="coco-val2014"
        )
        assert len(calls) == len(explained) == 2

    def test_a_kind_without_tuples_has_no_score_to_explain(self) -> None:
        metric = cidery.Spice(of="color")
        found = cidery.explain("a dog", ["a cat"], [metric])["spice"]
        assert math.isnan(found.score) and found.spans == ()
