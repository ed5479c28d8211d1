"""Measures of diversity, consensus and latent topics: published values, laws, independent sums."""

from __future__ import annotations

import json
import math
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import cidery
from cidery import Cider, CiderD
from cidery.cli import main
from cidery.diversity import (
    MEASURES,
    Distinct,
    EncoderKernel,
    FunctionKernel,
    Lsa,
    MBleu,
    SelfCider,
    count_words,
    diversity_by_count,
    f_measure,
    get_measures,
    latent_semantics,
    map_captions,
    match_references,
)
from cidery.errors import InputError, MismatchError, SettingError
from cidery.frequencies import DocumentFrequencies, load_shipped
from cidery.metrics import METRICS
from support import wang_chan
from support.example import BUNDLED, Example
from support.markers import mark_metrics


def embed_words(captions: list[str]) -> Any:
    """One direction for each word, as an encoder would give: captions -> [captions, width]."""
    vectors = np.zeros((len(captions), 997))
    for row, text in zip(vectors, captions, strict=True):
        for word in text.split():
            row[int.from_bytes(word.encode(), "big") % 997] += 1
    return vectors


def count_shared(captions: list[str]) -> list[list[float]]:
    """A kernel: how many different words two captions share."""
    sets = [{*text.split()} for text in captions]
    return [[float(len(one & other)) for other in sets] for one in sets]


KERNELS = ["cider", "cider-d", "cider-r"]
SPREADS = ["self-cider", "lsa", "mbleu-1", "mbleu-2", "mbleu-3", "mbleu-4", "mbleu-mix"]
"""Measures that are 0 for equal captions."""

words = st.sampled_from(["a", "the", "dog", "cat", "runs", "on", "grass", "two", "zzyzx"])
caption = st.lists(words, min_size=1, max_size=9).map(" ".join)
caption_sets = st.lists(caption, min_size=2, max_size=7)


def measure(captions: list[str], measures: Any = None, **settings: Any) -> dict[str, float]:
    table = cidery.measure_diversity({"image": captions}, measures, **settings)
    return {name: float(values[0]) for name, values in table.each.items()}


@pytest.fixture(scope="module")
def sampled() -> dict[int, list[str]]:
    rows = json.loads((BUNDLED / "sampled_a.json").read_text())
    return {row["image_id"]: row["captions"] for row in rows}


@pytest.fixture(scope="module")
def references(example: Example, sampled: dict[int, list[str]]) -> dict[int, list[str]]:
    return {image: example.references[image] for image in sampled}


@pytest.fixture(scope="module")
def printed(shared: Path) -> list[wang_chan.PrintedSet]:
    return wang_chan.read_sets(shared / "papers" / "self_cider_2019.txt")


class TestPublished:
    """Wang and Chan 2019, figures 12-18, from the captions printed there."""

    def test_sets(self, printed: list[wang_chan.PrintedSet]) -> None:
        assert len(printed) == 36
        assert [len(s.captions) for s in printed].count(10) == 29

    def find(self, printed: Any, start: str) -> wang_chan.PrintedSet:
        return next(s for s in printed if s.captions[0].startswith(start))

    @pytest.mark.parametrize(
        ("start", "expected"),
        [
            ("a view of a train window in a airport", [0.072, 0.189, 0.321, 0.497]),
            ("white and orange flowers in a glass vase", [0.366, 0.626, 0.852, 1.000]),
        ],
    )
    def test_mbleu(self, printed: list[wang_chan.PrintedSet], start: Any, expected: Any) -> None:
        found = measure(self.find(printed, start).captions, ["mbleu"])
        assert [found[f"mbleu-{n}"] for n in (1, 2, 3, 4)] == pytest.approx(expected, abs=5e-4)
        assert found["mbleu-mix"] == pytest.approx(sum(expected) / 4, abs=5e-4)

    @pytest.mark.parametrize(
        ("start", "lsa", "self_cider"),
        [
            ("a woman is holding a cell phone", 0.189, 0.358),
            ("a person is doing a trick on a skateboard", 0.073, 0.138),
            ("a group of people walking in the rain with umbrellas", 0.0, 0.0),
        ],
    )
    def test_lsa_and_self_cider(
        self, printed: list[wang_chan.PrintedSet], start: Any, lsa: Any, self_cider: Any
    ) -> None:
        found = measure(self.find(printed, start).captions, ["lsa", SelfCider("cider-d")])
        assert found == pytest.approx({"lsa": lsa, "self-cider": self_cider}, abs=5e-4)

    def test_self_cider_of_the_train(self, printed: list[wang_chan.PrintedSet]) -> None:
        captions = self.find(printed, "a view of a train window in a airport").captions
        found = measure(captions, ["self-cider"], kernel="cider-d")["self-cider"]
        assert found == pytest.approx(0.775, abs=0.002)

    def test_each_pair_once_gives_24_of_29_to_the_last_digit(
        self, printed: list[wang_chan.PrintedSet]
    ) -> None:
        """The authors compare each pair in one direction: the mean of both gives 12."""
        tens = {i: s.captions for i, s in enumerate(printed) if len(s.captions) == 10}
        expected = np.array([printed[i].values["self-cider"] for i in tens])
        once, both = (
            cidery.measure_diversity(tens, [SelfCider("cider-d", pairs)]).each["self-cider"]
            for pairs in ("once", "both")
        )
        assert np.count_nonzero(np.abs(once - expected) < 6e-4) == 24
        assert np.count_nonzero(np.abs(both - expected) < 6e-4) == 12

    def test_all_mbleu_but_those_of_nic_ss(self, printed: list[wang_chan.PrintedSet]) -> None:
        for found in printed:
            if "mbleu-1" in found.values and found.name != "NIC-SS":
                ours = measure(found.captions, ["mbleu"])
                for n in (1, 2, 3, 4):
                    # 0.2174 is printed as 0.216 once; all others agree to the last digit.
                    expected = pytest.approx(found.values[f"mbleu-{n}"], abs=1.5e-3)
                    assert ours[f"mbleu-{n}"] == expected


class TestOtherKernels:
    def test_an_encoder_is_one_by_its_vectors(self, sampled: dict[int, list[str]]) -> None:
        """Cosines of vectors are a function of captions too."""

        def take_cosines(captions: list[str]) -> Any:
            vectors = embed_words(captions)
            lengths = np.linalg.norm(vectors, axis=1)
            return vectors @ vectors.T / lengths[:, None] / lengths

        sets = [SelfCider(EncoderKernel(embed_words)), SelfCider(take_cosines)]
        one, other = (cidery.measure_diversity(sampled, [m]).each["self-cider"] for m in sets)
        assert one == pytest.approx(other, abs=1e-6)  # encoders are of single precision

    @pytest.mark.parametrize("kernel", [EncoderKernel(embed_words), FunctionKernel(count_shared)])
    @settings(max_examples=15)
    @given(caption_sets, st.randoms(use_true_random=False), st.integers(2, 4))
    def test_laws(self, kernel: Any, captions: Any, random: Any, times: Any) -> None:
        """Those of CIDEr's kernels: order, repetition, equal captions, nothing in common."""
        m = len(captions)
        found = measure(captions, [SelfCider(kernel)])["self-cider"]
        assert 0 <= found <= 1
        shuffled = random.sample(captions, m)
        assert measure(shuffled, [SelfCider(kernel)])["self-cider"] == pytest.approx(
            found, abs=1e-9
        )
        repeated = measure(captions * times, [SelfCider(kernel)])["self-cider"]
        assert repeated * math.log(m * times) == pytest.approx(found * math.log(m), abs=1e-6)
        assert measure(captions[:1] * m, [SelfCider(kernel)])["self-cider"] == 0.0
        apart = [letter * 3 for letter in "abcdefg"[:m]]
        assert measure(apart, [SelfCider(kernel)])["self-cider"] == 1.0

    def test_settings_in_names(self, sampled: dict[int, list[str]]) -> None:
        names = ["self-cider", "self-cider:kernel=cider-d,pairs=once", "lsa:stop_words=english"]
        found = get_measures(names)
        assert list(found.values()) == [
            SelfCider(),
            SelfCider("cider-d", "once"),
            Lsa(stop_words="english"),
        ]
        assert list(found) == names
        assert get_measures(names[::-1]) == found  # labels do not depend on the order
        table = cidery.measure_diversity(sampled, [SelfCider(count_shared)], references=sampled)
        signature = table.signatures["self-cider"]
        assert "|kernel:function:count_shared|code:unknown|captions:5|" in signature
        for name, message in {
            "self-cider:kernel": "expected setting=value",
            "self-cider:width=3": "has no setting 'width'",
            "mbleu-2:n=3": "is 'mbleu-3'; use that name",
            "self-cider:kernel=rouge-l": "the metric 'rouge-l' is not a kernel",
            "self-cider:kernel=nothing": "unknown kernel 'nothing'; known: cider",
        }.items():
            with pytest.raises(SettingError, match=message):
                get_measures(name)

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[1, 2], [2, 1]], "the eigenvalue -1, so it is not positive definite"),
            ([[1, 0.5], [0.1, 1]], "not symmetric"),
            ([[1, float("nan")], [0.1, 1]], "NaN or infinity"),
            ([[1, 0.5]], r"an array \[1, 2\], expected \[2, 2\]"),
            ([[1], [0.1, 1]], "no matrix, but list"),
        ],
    )
    def test_refused_matrices(self, matrix: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            measure(["a dog", "a cat"], [SelfCider(lambda _: matrix)])

    def test_kernels_that_fail(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A message names the function, the captions and what went wrong, as for metrics."""
        message = "lambda> failed on the captions 'a dog', 'a cat': ZeroDivisionError: division"
        with pytest.raises(InputError, match=message):
            measure(["a dog", "a cat"], [SelfCider(lambda _: 1 / 0)])
        (tmp_path / "broken_kernel.py").write_text("def fail(captions):\n    raise KeyError('x')\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "sets.json").write_text(json.dumps({"1": ["a dog", "a cat"]}))
        arguments = ["diversity", "sets.json", "-m", "self-cider", "--kernel", "broken_kernel:fail"]
        assert main(arguments) == 2
        told = capsys.readouterr().err
        assert "the kernel function:fail failed on the captions 'a dog', 'a cat': KeyError" in told

    def test_refused_kernels(self) -> None:
        wrong: Any = (3, Cider, cidery.Bleu(4))
        for kernel in wrong:
            with pytest.raises(SettingError, match="kernel"):
                SelfCider(kernel)
        with pytest.raises(SettingError, match='pairs="once" is only valid for CIDEr'):
            SelfCider(count_shared, "once")

    def test_captions_without_words(self) -> None:
        """They are like nothing, not even themselves."""
        found = measure(["", "a dog", "a dog"], [SelfCider(EncoderKernel(embed_words))])
        assert found["self-cider"] == 0.0
        assert measure(["", ""], [SelfCider(EncoderKernel(embed_words))])["self-cider"] == 0.0

    def test_a_language_model(self, minilm: Any) -> None:  # noqa: ARG002
        """Paraphrases are one topic, other things are several."""
        like = ["a dog runs on the grass", "a puppy is running over a lawn"]
        unlike = ["a dog runs on the grass", "two planes are parked at an airport"]
        name = "self-cider:kernel=minilm"
        one, other = (measure(found, [name])[name] for found in (like, unlike))
        assert one < 0.6 < other


class TestLaws:
    @pytest.mark.parametrize("kernel", KERNELS)
    @given(caption_sets, st.randoms(use_true_random=False))
    def test_permutation_changes_nothing(self, kernel: Any, captions: Any, random: Any) -> None:
        shuffled = list(captions)
        random.shuffle(shuffled)
        before = measure(captions, kernel=kernel)
        assert measure(shuffled, kernel=kernel) == pytest.approx(before, abs=1e-12)

    @given(caption_sets)
    def test_in_range(self, captions: Any) -> None:
        found = measure(captions)
        for name, value in found.items():
            low, high = MEASURES[name].range
            assert low <= value <= high

    @pytest.mark.parametrize("kernel", KERNELS)
    @given(caption, st.integers(2, 12))
    def test_equal_captions_give_exactly_0(self, kernel: Any, text: Any, count: Any) -> None:
        found = measure([text] * count, SPREADS, kernel=kernel)
        assert found == dict.fromkeys(SPREADS, 0.0)

    @pytest.mark.parametrize("count", range(2, 14))
    @pytest.mark.parametrize("length", [1, 2, 3, 4, 9])
    def test_nothing_in_common_gives_exactly_1(self, count: Any, length: Any) -> None:
        captions = [" ".join(f"w{i}x{j}" for j in range(length)) for i in range(count)]
        for kernel in KERNELS:
            assert measure(captions, SPREADS, kernel=kernel) == dict.fromkeys(SPREADS, 1.0)

    @pytest.mark.parametrize("kernel", KERNELS)
    @given(caption_sets, st.integers(2, 4))
    def test_repeating_the_set_leaves_r_unchanged(
        self, kernel: Any, captions: Any, times: Any
    ) -> None:
        m = len(captions)
        for name in ("self-cider", "lsa"):
            before = measure(captions, [name], kernel=kernel)[name] * math.log(m)
            after = measure(captions * times, [name], kernel=kernel)[name] * math.log(m * times)
            assert after == pytest.approx(before, abs=1e-9)

    @pytest.mark.parametrize("name", [n for n in MEASURES if n != "novel"])
    def test_threads_do_not_change_the_bits(self, name: Any, example: Example) -> None:
        _, references = example.many(800)
        sets = {image: captions * 2 for image, captions in references.items()}
        one, three = (cidery.measure_diversity(sets, [name], threads=t).each[name] for t in (1, 3))
        assert np.array_equal(one, three)

    @pytest.mark.parametrize("name", [n for n in MEASURES if n != "novel"])
    def test_images_do_not_touch_each_other(self, name: Any, example: Example) -> None:
        sets = {i: (c * 2)[: 2 + i % 4] for i, c in example.references.items()}
        together = cidery.measure_diversity(sets, [name])
        alone = [cidery.measure_diversity({i: c}, [name]).each[name][0] for i, c in sets.items()]
        assert together.each[name] == pytest.approx(alone, abs=1e-12)
        assert together.ids == list(sets)


class TestKernels:
    @pytest.mark.parametrize("kernel", ["cider", "cider-d", "cider-r"])
    @pytest.mark.parametrize("pairs", ["both", "once"])
    @pytest.mark.filterwarnings("ignore:references has one caption per image and")
    def test_pair_by_pair(self, kernel: Any, pairs: Any, sampled: dict[int, list[str]]) -> None:
        """The same from one call of score() per direction, as the definition says."""
        metric = {"cider": Cider(stemmer=None), "cider-d": CiderD(), "cider-r": "cider-r"}[kernel]
        scale = 1 if kernel == "cider" else 10
        for captions in list(sampled.values())[:6]:
            m = len(captions)
            rows = [(j, c) for c in captions for j in range(m)]
            table = cidery.score(
                rows,
                {j: [c] for j, c in enumerate(captions)},
                metrics=[metric],
                frequencies="coco-train2014",
            )
            matrix = next(iter(table.each.values())).reshape(m, m) / scale
            assert np.diagonal(matrix) == pytest.approx(1)
            upper = np.triu(matrix, 1)
            used = (matrix + matrix.T) / 2 if pairs == "both" else upper + upper.T + np.eye(m)
            roots = np.sqrt(np.maximum(np.linalg.eigvalsh(used), 0))
            expected = -math.log(roots[-1] / roots.sum()) / math.log(m)
            found = measure(captions, [SelfCider(kernel, pairs)])["self-cider"]
            assert found == pytest.approx(expected, abs=1e-9)

    def test_settings_of_the_kernel_count(self) -> None:
        captions = ["a dog runs over the grass", "a dog sleeps", "the red dog runs"]
        found = {
            measure(captions, [SelfCider(kernel)])["self-cider"]
            for kernel in (Cider(), Cider(stemmer=None), Cider(n=2), CiderD(sigma=1.0), CiderD())
        }
        assert len(found) == 5

    def test_paper_counts_of_cider_d(self) -> None:
        captions = ["a dog a dog a dog runs", "a dog runs here"]
        df = load_shipped("coco-train2014")
        found = measure(captions, [SelfCider(CiderD(faithful="paper"))])["self-cider"]
        sides = [
            cidery.score([a], [[b]], [CiderD(faithful="paper")], frequencies=df).corpus["cider-d"]
            for a, b in (captions, captions[::-1])
        ]
        k = sum(sides) / 20
        roots = [math.sqrt(1 + k), math.sqrt(1 - k)]
        assert found == pytest.approx(math.log2(sum(roots) / roots[0]))

    def test_live_against_pycocoevalcap(self, sampled: dict[int, list[str]]) -> None:
        scorers = pytest.importorskip("pycocoevalcap.cider.cider_scorer")
        df = load_shipped("coco-train2014")

        class Counted(list):
            def __len__(self) -> int:
                return int(df.image_count)

        class Frequencies(dict):
            def __missing__(self, ngram: Any) -> Any:
                return float(df.count(ngram))

        for captions in list(sampled.values())[:5]:
            plain = [" ".join(tokens) for tokens in cidery.tokenize(captions)]
            kernel = np.eye(len(plain))
            for i, one in enumerate(plain):
                for j, other in enumerate(plain):
                    scorer = scorers.CiderScorer(one, [other])
                    scorer.document_frequency = Frequencies()
                    scorer.crefs = Counted(scorer.crefs)
                    kernel[i, j] = scorer.compute_cider()[0] / 10
            roots = np.sqrt(np.maximum(np.linalg.eigvalsh((kernel + kernel.T) / 2), 0))
            expected = -math.log(roots[-1] / roots.sum()) / math.log(len(plain))
            found = measure(captions, ["self-cider"], kernel="cider-d")["self-cider"]
            assert found == pytest.approx(expected, abs=1e-9)

    def test_words_unknown_to_the_frequencies_and_empty_captions(self) -> None:
        assert measure(["", ""], SPREADS) == dict.fromkeys(SPREADS, 0.0)
        found = measure(["", "a dog runs here"], SPREADS)
        assert found["self-cider"] == 1.0
        assert found["mbleu-4"] == 1.0


class TestMeasures:
    def test_lsa_by_singular_values(self, sampled: dict[int, list[str]]) -> None:
        for stop_words in (None, ("a", "of")):
            for captions in sampled.values():
                cut = [
                    [w for w in tokens if w not in (stop_words or ())]
                    for tokens in cidery.tokenize(captions)
                ]
                known = sorted({w for tokens in cut for w in tokens})
                matrix = np.array([[tokens.count(w) for tokens in cut] for w in known])
                sigma = np.linalg.svd(matrix, compute_uv=False)
                expected = -math.log(sigma[0] / sigma.sum()) / math.log(len(captions))
                found = measure(captions, [Lsa(stop_words)])["lsa"]
                assert found == pytest.approx(expected, abs=1e-7)

    def test_stop_words_by_name(self) -> None:
        captions = ["a dog on the grass", "the dog of a cat"]
        assert measure(captions, ["lsa"], stop_words="english") == measure(
            ["dog grass", "dog cat"], ["lsa"]
        )
        with pytest.raises(SettingError, match="stop_words must be one of english"):
            Lsa("klingon")

    @given(st.lists(st.lists(words, min_size=4, max_size=9).map(" ".join), min_size=2, max_size=6))
    @pytest.mark.filterwarnings("ignore::cidery.errors.InputWarning")
    def test_mbleu_by_score(self, captions: Any) -> None:
        """BLEU of each caption against the others; coco's tiny constants add at most 1e-3."""
        others = [captions[:i] + captions[i + 1 :] for i in range(len(captions))]
        metrics = [f"bleu-{n}:faithful=paper" for n in (1, 2, 3, 4)]
        table = cidery.score(captions, others, metrics)
        found = measure(captions, ["mbleu"])
        for n in (1, 2, 3, 4):
            expected = 1 - table.each[f"bleu-{n}:faithful=paper"].mean()
            assert found[f"mbleu-{n}"] == pytest.approx(expected, abs=1e-12)
        assert found["mbleu-mix"] == pytest.approx(
            np.mean([found[f"mbleu-{n}"] for n in (1, 2, 3, 4)])
        )

    @given(caption_sets)
    def test_distinct_unique_and_vocabulary(self, captions: Any) -> None:
        cut = [c.split() for c in captions]
        total = sum(map(len, cut))
        found = measure(captions, ["distinct", "unique", "vocabulary"])
        assert found["distinct-1"] == len({w for c in cut for w in c}) / total
        assert found["distinct-2"] == len({p for c in cut for p in pairwise(c)}) / total
        assert found["unique"] == len(set(captions)) / len(captions)
        assert found["vocabulary"] == len({w for c in cut for w in c})

    def test_vocabulary_of_all_images_is_not_a_mean(self) -> None:
        table = cidery.measure_diversity([["a dog", "a cat"], ["a cow", "a cat"]], ["vocabulary"])
        assert table.corpus["vocabulary"] == 4
        assert table.each["vocabulary"].tolist() == [3, 3]
        with pytest.raises(SettingError, match="no interval for 'vocabulary'"):
            table.interval("vocabulary")

    def test_novel(self) -> None:
        sets = {"a": ["A dog.", "a cat", "a cow"], "b": ["two dogs", "two dogs"]}
        for training in ({1: ["a dog", "x"], 2: ["Two dogs!"]}, ["a dog", "two dogs"]):
            table = cidery.measure_diversity(sets, ["novel"], training=training)
            assert table.each["novel"] == pytest.approx([2 / 3, 0])
        with pytest.raises(SettingError, match="--training FILE"):
            cidery.measure_diversity(sets, ["novel"])
        assert "novel" in cidery.measure_diversity(sets, training=["a dog"]).corpus

    def test_names(self) -> None:
        assert list(get_measures("mbleu"))[-1] == "mbleu-mix"
        assert list(get_measures([Distinct(2), MBleu(None)])) == ["distinct-2", "mbleu-mix"]
        with pytest.raises(SettingError, match="unknown diversity measure 'selfcider'; known: "):
            get_measures("selfcider")
        with pytest.raises(SettingError, match="unknown kernel 'bleu'; known: cider, cider-d"):
            cidery.measure_diversity([["a", "b"]], kernel="bleu")
        with pytest.raises(SettingError, match="no diversity measures"):
            get_measures([])

    def test_words(self) -> None:
        found = count_words({1: ["a dog", "A dog."], 2: ["the cat", "a cat"]})
        assert found.words == ("a", "cat", "dog", "the")
        assert found.counts.tolist() == [3, 2, 2, 1]


class TestTable:
    def test_shapes_of_input_are_the_same(self) -> None:
        mapping = {7: ["a dog", "a cat"], 8: ["one", "two", "three"]}
        rows = [(7, "a dog"), (8, "one"), (7, "a cat"), (8, "two"), (8, "three")]
        first = cidery.measure_diversity(mapping)
        second = cidery.measure_diversity(rows)
        third = cidery.measure_diversity(list(mapping.values()))
        assert first.corpus == second.corpus == third.corpus
        assert first.ids == second.ids == [7, 8]
        assert third.ids == [0, 1]
        assert "|captions:2-3|" in first.signatures["self-cider"]

    def test_signatures(self) -> None:
        found = cidery.measure_diversity([["a b", "c d"]], kernel="cider-d").signatures
        assert found["self-cider"].startswith(
            "self-cider|kernel:cider-d|n:4|sigma:6|faithful:coco|pairs:both|captions:2|"
            "tokenizer:ptb|frequencies:coco-train2014-"
        )
        assert found["lsa"].startswith("lsa|stop_words:none|captions:2|tokenizer:ptb|version:")

    def test_means_and_intervals(self, sampled: dict[int, list[str]]) -> None:
        table = cidery.measure_diversity(sampled)
        for name in ("self-cider", "distinct-2"):
            interval = table.interval(name)
            assert interval.score == pytest.approx(table.corpus[name])
            assert table.corpus[name] == pytest.approx(table.each[name].mean())
            assert interval.low < interval.score < interval.high

    @pytest.mark.parametrize(
        ("sets", "message"),
        [
            ({"a": ["x", "y"], "b": ["x"]}, "image 'b' has one caption; diversity compares"),
            ({"a": [], "b": ["x"]}, r"'a' has no captions \(and 1 more of 2 images\)"),
            ({}, "captions: there are no captions"),
            ({"a": "xy"}, "image 'a' has a bare string"),
            ({"a": ["x", 3]}, "caption 2 of image 'a' is 3, expected text"),
            ("xy", "expected captions by image id, a list of lists"),
        ],
    )
    def test_refusals(self, sets: Any, message: Any) -> None:
        with pytest.raises(InputError, match=message):
            cidery.measure_diversity(sets)

    def test_skipping(self) -> None:
        sets = {"a": ["x", "y"], "b": ["x"], "c": ["z", "z"]}
        assert cidery.measure_diversity(sets, missing="skip").ids == ["a", "c"]
        table = cidery.measure_diversity(
            sets, references={"a": ["x y"], "b": ["x"], "d": ["q"]}, missing="skip"
        )
        assert table.ids == ["a"]
        with pytest.raises(InputError, match="no image has two captions"):
            cidery.measure_diversity({"a": ["x"]}, missing="skip")
        with pytest.raises(SettingError, match='missing must be "error" or "skip"'):
            cidery.measure_diversity(sets, missing="maybe")

    def test_frequencies(
        self, sampled: dict[int, list[str]], references: dict[int, list[str]]
    ) -> None:
        with pytest.raises(SettingError, match="no references to count them on; pass references="):
            cidery.measure_diversity(sampled, frequencies="references")
        counted = DocumentFrequencies.from_references(references)
        given_set = cidery.measure_diversity(sampled, ["self-cider"], frequencies=counted)
        with pytest.warns(cidery.errors.UnreliableWarning):
            own = cidery.measure_diversity(
                sampled, ["self-cider"], frequencies="references", references=references
            )
        assert np.array_equal(given_set.each["self-cider"], own.each["self-cider"])
        assert "|frequencies:references-24-" in own.signatures["self-cider"]


class TestAccuracy:
    def test_mean_of_the_captions_scores(
        self, sampled: dict[int, list[str]], references: dict[int, list[str]]
    ) -> None:
        table = cidery.measure_diversity(sampled, ["self-cider"], references=references)
        scored = cidery.score(sampled, references, "cider-d", frequencies="coco-train2014")
        expected = scored.each["cider-d"].reshape(len(sampled), -1).mean(axis=1)
        assert table.each["accuracy"] == pytest.approx(expected)
        assert table.signatures["accuracy"].startswith("accuracy|metric:cider-d|n:4|")

    def test_rows_that_lie_apart(
        self, sampled: dict[int, list[str]], references: dict[int, list[str]]
    ) -> None:
        rows = [(i, sampled[i][k]) for k in range(5) for i in sampled]
        apart = cidery.measure_diversity(rows, ["self-cider"], references=references)
        table = cidery.measure_diversity(sampled, ["self-cider"], references=references)
        assert np.array_equal(apart.each["accuracy"], table.each["accuracy"])

    def test_f_is_of_the_means(
        self, sampled: dict[int, list[str]], references: dict[int, list[str]]
    ) -> None:
        table = cidery.measure_diversity(sampled, ["self-cider"], references=references)
        div, acc = table.corpus["self-cider"], table.corpus["accuracy"]
        assert table.corpus["f"] == pytest.approx(6 * div * acc / (5 * div + acc))
        interval = table.interval("f")
        assert interval.score == pytest.approx(table.corpus["f"])
        assert interval.low < interval.score < interval.high
        assert table.signatures["f"] == "f|beta_squared:5|div:self-cider"

    def test_f_measure(self) -> None:
        assert f_measure(0.0, 0.0) == 0
        assert f_measure(0.7, 0.7, 3.0) == pytest.approx(0.7)
        assert f_measure(0.5, 0.9, 1e9) == pytest.approx(0.9)
        assert f_measure(0.5, 0.9, 0.0) == pytest.approx(0.5)

    def test_humans_by_leave_one_out(self, references: dict[int, list[str]]) -> None:
        table = cidery.measure_diversity(references, ["self-cider"], references="leave-one-out")
        again = cidery.score_references(references, frequencies="coco-train2014")
        assert table.corpus["accuracy"] == pytest.approx(again.corpus["cider-d"])
        with pytest.raises(SettingError, match="captions or 'leave-one-out'"):
            cidery.measure_diversity(references, references="none")

    def test_mismatch_and_wrong_judges(
        self, sampled: dict[int, list[str]], example: Example
    ) -> None:
        with pytest.raises(MismatchError, match="references but no candidates"):
            cidery.measure_diversity(sampled, references=example.references)
        with pytest.raises(SettingError, match="accuracy takes one metric, not bleu-1"):
            cidery.measure_diversity(sampled, references=example.references, accuracy="bleu")

    def test_references_of_the_same_images(
        self, sampled: dict[int, list[str]], example: Example, references: dict[int, list[str]]
    ) -> None:
        found = match_references(sampled, example.references, "skip")
        assert found == references

    def test_best_captions_first(
        self, sampled: dict[int, list[str]], references: dict[int, list[str]]
    ) -> None:
        curve = diversity_by_count(sampled, references)
        assert list(curve) == [2, 5]
        whole = cidery.measure_diversity(sampled, ["self-cider"], references=references)
        assert curve[5].corpus["self-cider"] == pytest.approx(whole.corpus["self-cider"])
        accuracies = [table.corpus["accuracy"] for table in curve.values()]
        assert accuracies[0] > accuracies[1]
        scored = cidery.score(sampled, references, "cider-d", frequencies="coco-train2014")
        best = np.sort(scored.each["cider-d"].reshape(-1, 5), axis=1)[:, -2:].mean()
        assert accuracies[0] == pytest.approx(best)
        for counts in ((1, 2), (2, 8), ()):
            with pytest.raises(InputError, match="between 2 and the 5 captions of image 1"):
                diversity_by_count(sampled, references, counts)


class TestConsensus:
    # Weights that are counted on the references given are other weights for a single image.
    @pytest.mark.parametrize(
        "name",
        mark_metrics(
            {
                type(metric): n
                for n, metric in METRICS.items()
                if not getattr(metric, "idf", False)
                if not (metric.needs.settings or metric.needs.all_candidates)
            }.values()
        ),
    )
    def test_leave_one_out_with_any_metric(self, name: Any, example: Example) -> None:
        references = {i: example.references[i] for i in list(example.references)[:2]}
        table = cidery.score_references(references, name, frequencies="coco-val2014")
        for row, (image, i) in enumerate((i, k) for i in references for k in range(5)):
            group = references[image]
            alone = cidery.score(
                [group[i]], [group[:i] + group[i + 1 :]], name, frequencies="coco-val2014"
            )
            assert table.ids[row] == image
            assert table.each[name][row] == pytest.approx(alone.each[name][0], abs=1e-12)
        assert table.image_count == 2
        assert "|refs:4|" in table.signatures[name]

    def test_own_frequencies_count_images_once(self, example: Example) -> None:
        table = cidery.score_references(example.references, ["cider", "cider-d", "bleu-4"])
        for stemmer, name in (("english", "cider"), (None, "cider-d")):
            df = DocumentFrequencies.from_references(example.references, stemmer=stemmer)
            again = cidery.score_references(example.references, name, frequencies=df)
            assert np.array_equal(table.each[name], again.each[name])
        assert list(table.corpus) == ["cider", "cider-d", "bleu-4"]

    def test_batches_do_not_matter(self, example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = cidery.score_references(example.references, ["cider-d", "bleu-4"])
        monkeypatch.setattr(sys.modules["cidery.diversity.reference_scores"], "_BATCH", 100)
        parts = cidery.score_references(example.references, ["cider-d", "bleu-4"])
        for name in whole.each:
            assert np.array_equal(whole.each[name], parts.each[name])
        assert whole.corpus == parts.corpus
        assert whole.signatures == parts.signatures

    def test_ranking(self) -> None:
        group = ["a dog runs on the grass", "two dogs", "a dog runs on green grass", "xyzzy"]
        ranking = cidery.rank_references({"a": group}, frequencies="coco-val2014")["a"]
        assert {r.position for r in ranking[:2]} == {0, 2}
        assert ranking[-1].caption == "xyzzy"
        assert ranking[-1].score == 0
        assert [r.score for r in ranking] == sorted((r.score for r in ranking), reverse=True)
        assert all(group[r.position] == r.caption for r in ranking)

    def test_ranking_on_the_command_line(
        self, example: Example, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = str(BUNDLED / "references.json")
        assert main(["rank", file, "--image", "1", "--image", "2", "--top", "2", "-f", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        ranking = cidery.rank_references(example.references)
        assert found["signature"] == ranking.signature
        assert list(found["images"]) == ["1", "2"]
        for image, group in found["images"].items():
            kept = [vars(caption) for caption in ranking[int(image)][:2]]
            assert group == kept
        assert main(["rank", file, "-m", "rouge-l", "--top", "1", "-f", "csv"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "image,rank,score,caption,position,signature"
        assert len(lines) == 1 + len(example.references)
        assert main(["rank", file, "--image", "nowhere"]) == 2
        assert "there is no image 'nowhere' with two references" in capsys.readouterr().err

    def test_images_with_one_reference(self) -> None:
        few = {"a": ["a dog runs"], "b": ["a dog", "the dog"]}
        assert list(cidery.rank_references(few, "rouge-l", missing="skip")) == ["b"]
        shown = cidery.rank_references(few, "rouge-l", missing="skip").to_markdown().splitlines()
        assert shown[0] == "| image | rank | rouge-l | caption |"

    def test_one_reference_is_refused(self) -> None:
        message = "references: image 'a' has one reference; each reference is scored against the"
        for ask in (cidery.score_references, cidery.rank_references):
            with pytest.raises(InputError, match=message):
                ask({"a": ["x"]})
        with pytest.raises(InputError, match="references: no image has two references or more"):
            cidery.rank_references({"a": ["x"]}, missing="skip")

    def test_several_metrics_are_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SettingError, match="by one metric; 'bleu' names 4: bleu-1, bleu-2"):
            cidery.rank_references({"a": ["x", "y"]}, "bleu")
        file = str(BUNDLED / "references.json")
        assert main(["rank", file, "-m", "bleu"]) == 2
        assert "references are ranked by one metric; 'bleu' names 4" in capsys.readouterr().err
        assert main(["rank", file, "-m", "rouge-l", "-m", "bleu-1"]) == 2
        assert "ranked by one metric, not by rouge-l, bleu-1" in capsys.readouterr().err


class TestLatent:
    @pytest.mark.parametrize("kernel", ["cider", "cider-d", "lsa"])
    def test_decomposition(self, kernel: Any, sampled: dict[int, list[str]]) -> None:
        captions = sampled[1]
        found = latent_semantics(captions, kernel, components=len(captions))
        rebuilt = (found.coordinates * found.strengths**2) @ found.coordinates.T
        if kernel != "lsa":
            assert np.diagonal(rebuilt) == pytest.approx(1)
        spread = math.log(found.strengths.sum() / found.strengths[0]) / math.log(len(captions))
        name = "lsa" if kernel == "lsa" else "self-cider"
        expected = measure(captions, [name], kernel="cider" if kernel == "lsa" else kernel)[name]
        assert spread == pytest.approx(expected, abs=1e-7)

    def test_five_components_and_signs(self, sampled: dict[int, list[str]]) -> None:
        captions = sampled[1] + sampled[2]
        found = latent_semantics(captions)
        assert found.coordinates.shape == (10, 5)
        assert (np.abs(found.coordinates).max(axis=0) == found.coordinates.max(axis=0)).all()
        assert (np.diff(found.strengths) <= 0).all()
        assert latent_semantics(captions[:3]).coordinates.shape == (3, 3)
        with pytest.raises(SettingError, match="components must be at least 1"):
            latent_semantics(captions, components=0)
        with pytest.raises(SettingError, match="needs references"):
            latent_semantics(captions, frequencies="references")

    def test_map(self, sampled: dict[int, list[str]]) -> None:
        sets = {1: [*sampled[1], sampled[1][0]], 2: sampled[2], 7: sampled[7]}
        found = map_captions(sets)
        assert found.images == (1,) * 6 + (2,) * 5 + (7,) * 5
        assert found.coordinates.shape == (16, 2)
        assert found.coordinates[5] == pytest.approx(found.coordinates[0], abs=1e-12)
        assert 0 < found.stress < 0.5
        again = map_captions(sets)
        assert np.array_equal(found.coordinates, again.coordinates)
        assert not np.array_equal(found.coordinates, map_captions(sets, seed=1).coordinates)
        center = {i: found.coordinates[[k == i for k in found.images]].mean(axis=0) for i in sets}
        inside = np.linalg.norm(found.coordinates[:6] - center[1], axis=1).max()
        assert np.linalg.norm(center[1] - center[7]) > inside

    def test_map_that_fits_exactly(self) -> None:
        found = map_captions(
            {"a": ["one two three four", "five six seven eight"], "b": ["x y", "z"]}
        )
        flat = map_captions({"a": ["one two three four", "five six seven eight"]}, dimensions=1)
        assert flat.stress == pytest.approx(0, abs=1e-6)
        assert abs(np.diff(flat.coordinates[:, 0]))[0] == pytest.approx(math.sqrt(2), abs=1e-5)
        assert len(np.unique(found.coordinates.round(3), axis=0)) == 4
        assert map_captions({"a": ["x", "x"]}).stress == 0
        with pytest.raises(SettingError, match="dimensions must be at least 1"):
            map_captions({"a": ["x", "y"]}, dimensions=0)


@given(caption_sets)
def test_self_cider_never_calls_near_copies_equal(captions: Any) -> None:
    """0 is for equal captions alone (as words)."""
    assume(len(set(captions)) > 1)
    assume(len({" ".join(sorted(c.split())) for c in captions}) > 1)
    assert measure(captions, ["self-cider"])["self-cider"] > 0


def test_real_size(shared: Path) -> None:
    rows = json.loads((shared / "data" / "diversity" / "merge_results.json").read_text())
    sets = {row["image_id"]: row["captions"] for row in rows}
    table = cidery.measure_diversity(sets)
    assert table.image_count == 5000
    assert table.corpus["self-cider"] == pytest.approx(0.894, abs=0.002)
    some = dict(list(sets.items())[100:110])
    alone = cidery.measure_diversity(some, ["self-cider", "mbleu-4"])
    assert alone.each["self-cider"] == pytest.approx(table.each["self-cider"][100:110], abs=1e-12)
    assert alone.each["mbleu-4"] == pytest.approx(table.each["mbleu-4"][100:110], abs=1e-12)


SETS = {"a": ["a dog runs fast", "the dog is running"], "b": ["two cats sit", "a cat on a mat"]}
ABOUT = {"a": ["a dog runs", "dogs running"], "b": ["two cats", "cats sitting on a mat"]}


def test_f_is_computed_for_every_kernel() -> None:
    named = cidery.measure_diversity(SETS, "self-cider:kernel=cider-d", references=ABOUT)
    chosen = cidery.measure_diversity(SETS, "self-cider", kernel="cider-d", references=ABOUT)
    assert named.corpus["f"] == chosen.corpus["f"]
    assert "div:self-cider:kernel=cider-d" in named.signatures["f"]
    both = cidery.measure_diversity(
        SETS, ["self-cider", "self-cider:kernel=cider-d"], references=ABOUT
    )
    assert both.corpus["f:kernel=cider-d"] == named.corpus["f"]
    assert both.corpus["f"] == cidery.measure_diversity(SETS, references=ABOUT).corpus["f"]


@pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")
def test_kernels_with_different_stems_and_orders_count_references() -> None:
    kernels = [SelfCider(Cider()), SelfCider(CiderD(n=2)), SelfCider("cider-r")]
    together = cidery.measure_diversity(SETS, kernels, references=ABOUT, frequencies="references")
    for kernel, value in zip(kernels, together.corpus.values(), strict=False):
        alone = cidery.measure_diversity(SETS, kernel, references=ABOUT, frequencies="references")
        assert alone.corpus["self-cider"] == value
