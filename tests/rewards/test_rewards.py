"""Rewards equal scores, for captions in any form; what is no caption is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.errors import (
    CideryError,
    FrequenciesError,
    InputError,
    MismatchError,
    SettingError,
    UnreliableWarning,
)
from laws.test_laws import METRICS
from support.example import Example
from support.markers import MODEL_EXTRAS, mark_extra
from support.token_ids import BOS, EOS, PAD, as_ids, vocabulary_of

WORDS = ["a", "dog", "runs", "cat", "sleeps", "on", "the", "bed"]
VOCABULARY = ["<pad>", "<bos>", "<eos>", *WORDS]
A, DOG, RUNS, CAT, SLEEPS, ON, THE, BED = range(3, 11)
SMALL = {
    "dogs": ["a dog runs on the grass", "the dog is running"],
    "cats": ["a cat sleeps", "two cats sleep on a bed"],
    "men": ["a man rides a horse", "someone riding"],
}
SPECIAL = {"vocabulary": VOCABULARY, "pad": PAD, "bos": BOS, "eos": EOS}


# Three images are enough to see how captions are read.
pytestmark = pytest.mark.filterwarnings("ignore::cidery.errors.UnreliableWarning")


def small_reward(metric: Any = "cider-d", **settings: Any) -> cidery.Reward:
    return cidery.Reward(SMALL, metric, **settings)


def list_metrics() -> Iterator[Any]:
    """Yield metrics, and on what document frequencies are counted where they use them.

    Those that need a model are tested once for the same rows: they take long.
    """
    seen = set()
    for name, metric in METRICS.items():
        needs = metric.needs
        if needs.settings is not None or (needs.extra in MODEL_EXTRAS and type(metric) in seen):
            continue
        seen.add(type(metric))
        marks = mark_extra(needs.extra)
        yield pytest.param(name, "references", marks=marks)
        if needs.frequencies:
            yield pytest.param(name, "own", marks=marks)


@pytest.mark.parametrize(("metric", "counted"), [*list_metrics()])
def test_equals_score_for_strings_tokens_and_ids(
    example: Example, metric: str, counted: str
) -> None:
    is_contextual = METRICS[metric].needs.extra in ("contextual", "claims")
    candidates, references = example.many(24 if is_contextual else 150)
    needed = METRICS[metric].needs.frequencies
    frequencies: Any = "references"
    if counted == "own":
        frequencies = cidery.DocumentFrequencies.from_references(
            example.references, stemmer=needed.stemmer if needed else None
        )
    expected = cidery.score(candidates, references, [metric], frequencies=frequencies)
    tokens = cidery.tokenize(candidates.values())
    vocabulary = vocabulary_of(tokens)
    sign = -1.0 if METRICS[metric].lower_is_better else 1.0
    reward = cidery.Reward(
        references,
        metric if sign > 0 else {metric: sign},
        frequencies=frequencies,
        vocabulary=vocabulary,
        pad=PAD,
        bos=BOS,
        eos=EOS,
    )
    ids = list(candidates)
    forms = [list(candidates.values()), tokens, as_ids(tokens, vocabulary)]
    if is_contextual:  # language models read text, which tokens have lost
        forms = forms[:1]
    for captions in forms:
        np.testing.assert_array_equal(reward(ids, captions), sign * expected.each[metric])
    assert reward.signatures == expected.signatures


def test_a_mix_is_the_weighted_sum(example: Example) -> None:
    candidates, references = example.many(150)
    mix = {"cider-d": 1.0, "bleu-4": 0.5, cidery.CiderR(repetition=0.5): -0.25, "bleu-1": 2.0}
    table = cidery.score(candidates, references, list(mix))
    reward = cidery.Reward(references, mix)
    values = list(table.each.values())
    expected = 1.0 * values[0] + 0.5 * values[1] + -0.25 * values[2] + 2.0 * values[3]
    np.testing.assert_array_equal(reward(list(candidates), list(candidates.values())), expected)
    assert list(reward.weights.values()) == [1.0, 0.5, -0.25, 2.0]
    assert "0.5 bleu-4" in repr(reward)


def test_any_captions_in_any_order_of_any_images(example: Example) -> None:
    _, references = example.many(150)
    reward = cidery.Reward(references, "cider-d")
    rng = np.random.default_rng(3)
    images = rng.integers(0, 150, 400)
    captions = [references[int(i)][0] for i in rng.integers(0, 150, 400)]
    together = reward(images, captions)
    alone = [reward([i], [c])[0] for i, c in zip(images, captions, strict=True)]
    np.testing.assert_array_equal(together, alone)


def test_many_threads_give_the_same_bits(example: Example) -> None:
    candidates, references = example.many(1500)
    ids, captions = list(candidates), list(candidates.values())
    one, four = (cidery.Reward(references, threads=n)(ids, captions) for n in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_lists_match_by_position_and_ids_match_across_types() -> None:
    texts = [[caption] for captions in SMALL.values() for caption in captions]
    by_position = cidery.Reward(texts)
    spelled = cidery.Reward({str(i): group for i, group in enumerate(texts)})
    padded = cidery.Reward({f"0{i}": group for i, group in enumerate(texts)})
    expected = by_position([0, 2], ["a dog", "a cat"])
    np.testing.assert_array_equal(spelled(["0", "2"], ["a dog", "a cat"]), expected)
    np.testing.assert_array_equal(spelled(np.array([0, 2]), ["a dog", "a cat"]), expected)
    np.testing.assert_array_equal(by_position(["0", "2"], ["a dog", "a cat"]), expected)
    np.testing.assert_array_equal(padded(["00", "02"], ["a dog", "a cat"]), expected)
    with pytest.raises(MismatchError, match="image 0 "):
        padded([0], ["a dog"])


class OnlyDlpack:
    """A tensor of a library that only speaks DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


ROWS = np.array([[BOS, A, DOG, RUNS, EOS, PAD], [BOS, A, CAT, SLEEPS, SLEEPS, EOS]])


@pytest.mark.parametrize("metric", ["cider-d", "cider-r", "bleu-4", "rouge-l"])
def test_every_kind_of_array_reads_alike(metric: str) -> None:
    reward = small_reward(metric, **SPECIAL)
    images = ["dogs", "cats"]
    expected = reward(images, ["a dog runs", "a cat sleeps sleeps"])
    assert expected.dtype == np.float64
    assert (expected > 0).all()
    wide = np.zeros((2, 12), np.int64)
    wide[:, ::2] = ROWS
    for captions in (
        ROWS,
        ROWS.astype(np.int32),
        ROWS.astype(np.uint8),
        np.asfortranarray(ROWS),
        wide[:, ::2],
        OnlyDlpack(ROWS),
        ROWS.tolist(),
        [list(row) for row in ROWS],
        [ROWS[0], ROWS[1][1:]],
        [[A, DOG, RUNS], [A, CAT, SLEEPS, SLEEPS]],
        (("a", "dog", "runs"), ("a", "cat", "sleeps", "sleeps")),
        np.array(["a dog runs", "a cat sleeps sleeps"]),
    ):
        np.testing.assert_array_equal(reward(images, captions), expected)


@pytest.mark.model
def test_tensors_read_as_arrays_do() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    reward = small_reward(**SPECIAL)
    expected = reward(["dogs", "cats"], ROWS)
    tensor = torch.from_numpy(ROWS.copy())
    for captions in (tensor, tensor.int(), [tensor[0], tensor[1, 1:]]):
        np.testing.assert_array_equal(reward(["dogs", "cats"], captions), expected)
    np.testing.assert_array_equal(reward.mask(tensor), reward.mask(ROWS))
    by_number = cidery.Reward({7: SMALL["dogs"], 9: SMALL["cats"]})
    np.testing.assert_array_equal(
        by_number(torch.tensor([9, 7]), ["a cat", "a dog"]), by_number([9, 7], ["a cat", "a dog"])
    )


@pytest.mark.parametrize(
    ("settings", "row", "caption", "chosen"),
    [
        ({}, [BOS, A, DOG, EOS, PAD, PAD], "a dog", [0, 1, 1, 1, 0, 0]),
        ({}, [A, DOG, EOS, CAT, 99, -1], "a dog", [1, 1, 1, 0, 0, 0]),  # past the end: not read
        ({}, [PAD, PAD, BOS, A, DOG, EOS], "a dog", [0, 0, 0, 1, 1, 1]),
        ({}, [A, DOG, RUNS], "a dog runs", [1, 1, 1]),  # cut off before its end
        ({}, [EOS, A, DOG], "", [1, 0, 0]),
        ({"pad": EOS}, [BOS, A, DOG, EOS, EOS], "a dog", [0, 1, 1, 1, 0]),
        ({"bos": EOS}, [EOS, A, DOG, EOS, A], "a dog", [0, 1, 1, 1, 0]),
        ({"pad": -100}, [-100, A, DOG, -100, EOS], "a dog", [0, 1, 1, 0, 1]),
        ({"eos": None}, [BOS, A, DOG, PAD], "a dog", [0, 1, 1, 0]),
    ],
)
def test_where_a_caption_begins_and_ends(
    settings: dict[str, Any], row: list[int], caption: str, chosen: list[int]
) -> None:
    reward = small_reward(**(SPECIAL | settings))
    np.testing.assert_array_equal(reward(["dogs"], [row]), reward(["dogs"], [caption]))
    np.testing.assert_array_equal(reward(["dogs"], np.array([row])), reward(["dogs"], [caption]))
    np.testing.assert_array_equal(reward.mask(np.array([row])), [np.array(chosen, bool)])


@pytest.mark.parametrize(
    "vocabulary",
    [dict(enumerate(VOCABULARY)), {str(i): w for i, w in enumerate(VOCABULARY)}, tuple(VOCABULARY)],
)
def test_a_vocabulary_is_a_list_or_a_mapping(vocabulary: Any) -> None:
    reward = small_reward(**(SPECIAL | {"vocabulary": vocabulary}))
    assert reward(["dogs"], ROWS[:1]) == reward(["dogs"], ["a dog runs"])


def test_words_of_several_parts_and_of_several_ids() -> None:
    reward = small_reward("cider-r", vocabulary=["a", "dog", "dog", "grass on", "on-the"])
    np.testing.assert_array_equal(
        reward(["dogs"] * 2, [[0, 1], [0, 2]]), reward(["dogs"] * 2, ["a dog"] * 2)
    )
    assert reward(["dogs"], [[0, 3, 4]]) == reward(["dogs"], [["a", "grass on", "on-the"]])


class TestEndAsWord:
    """count_eos=True: as if every finished caption ended in one more word."""

    CAPTIONS = {"dogs": "a dog runs", "cats": "a cat on the bed", "men": "a dog"}  # noqa: RUF012

    @pytest.mark.parametrize("metric", ["cider-d", "cider-r", "bleu-4", "rouge-l"])
    def test_equals_score_of_captions_that_end_in_the_word(self, metric: str) -> None:
        expected = cidery.score(
            {image: f"{caption} <eos>" for image, caption in self.CAPTIONS.items()},
            {image: [f"{caption} <eos>" for caption in group] for image, group in SMALL.items()},
            [metric],
            tokenizer="whitespace",
        ).each[metric]
        reward = cidery.Reward(SMALL, metric, tokenizer="whitespace", count_eos=True, **SPECIAL)
        images, captions = list(self.CAPTIONS), list(self.CAPTIONS.values())
        tokens = [caption.split() for caption in captions]
        for given in (captions, tokens, as_ids(tokens, VOCABULARY)):
            np.testing.assert_array_equal(reward(images, given), expected)
        assert "tokenizer:whitespace+eos" in reward.signatures[metric]

    def test_a_caption_that_was_cut_off_has_not_ended(self) -> None:
        reward = small_reward(count_eos=True, **SPECIAL)
        ended, cut = reward(["dogs"] * 2, [[A, DOG, RUNS, EOS], [A, DOG, RUNS]])
        assert ended != cut

    def test_by_default_the_end_is_no_word(self) -> None:
        ended, cut = small_reward(**SPECIAL)(["dogs"] * 2, [[A, DOG, RUNS, EOS], [A, DOG, RUNS]])
        assert ended == cut

    def test_the_word_is_the_vocabulary_s_or_a_made_one(self) -> None:
        without = {i: w for i, w in enumerate(VOCABULARY) if i != EOS}
        rows = [[A, DOG, EOS]]
        own = small_reward(count_eos=True, **SPECIAL)(["dogs"], rows)
        made = small_reward(count_eos=True, **(SPECIAL | {"vocabulary": without}))(["dogs"], rows)
        text = small_reward(count_eos=True)(["dogs"], ["a dog"])
        assert own == made == text

    def test_frequencies_must_have_seen_it(self) -> None:
        seen = cidery.DocumentFrequencies.from_counts({("<eos>",): 3.0, ("a",): 2.0}, 3)
        unseen = cidery.DocumentFrequencies.from_references(SMALL)
        with pytest.raises(FrequenciesError, match=r"'<eos>'.*has never seen"):
            cidery.Reward(SMALL, frequencies=unseen, count_eos=True)
        cidery.Reward(SMALL, cidery.CiderD(n=1), frequencies=seen, count_eos=True)


def test_few_images_are_warned_of_where_the_reward_is_made() -> None:
    with pytest.warns(UnreliableWarning, match="only 3 images") as warned:
        cidery.Reward(SMALL)
    assert warned[0].filename == __file__


def test_nothing_in_nothing_out() -> None:
    reward = small_reward({"cider-d": 1.0, "bleu-4": 1.0}, **SPECIAL)
    for captions in ([], (), np.zeros((0, 5), np.int64)):
        assert reward([], captions).shape == (0,)


@pytest.mark.parametrize(
    ("images", "captions", "error", "message"),
    [
        (["dogs"], ["a", "b"], MismatchError, "1 image ids for 2 captions.*repeat each id"),
        (["dogs"] * 3, ["a", "b"], MismatchError, "3 image ids for 2 captions"),
        (["dogs", "lions"], ["a", "b"], MismatchError, r"image 'lions' \(caption 1\).*'dogs'"),
        ([["dogs"]], ["a"], MismatchError, r"image \['dogs'\] \(caption 0\)"),
        ("dogs", ["a"], InputError, "one per caption, not 'dogs'"),
        (["dogs"], "a dog", InputError, "not str"),
        (["dogs"], {"dogs": "a dog"}, InputError, "not dict"),
        (["dogs"], [None], InputError, "caption 0 is None"),
        (["dogs"] * 2, ["a", ["dog"]], InputError, "caption 0 is 'a'.*one kind"),
        (["dogs"] * 2, [["a"], "dog"], InputError, "caption 1 is 'dog'"),
        (["dogs"] * 2, [["a"], ["dog", 3]], InputError, "caption 1 has a token that is not text"),
        (["dogs"], ["half \ud800 of"], InputError, "caption 0 has half of a surrogate pair"),
        (["dogs"], [["\ud800"]], InputError, "half of a surrogate pair"),
        (["dogs"], np.array([A, DOG]), InputError, r"shape \(2,\); expected \(captions, tokens\)"),
        (["dogs"], np.array([[[A]]]), InputError, r"reshape\(-1, 1\)"),
        (["dogs"], np.array([[0.5]]), InputError, "must be integers.*float64"),
        (["dogs"], [[A, 0.5]], InputError, "must be integers"),
        (["dogs"], [np.array([[A]])], InputError, "one row of ids per caption"),
        (["dogs"], np.array([[A, 99]]), InputError, "caption 0, token 1: the id 99 is not in"),
        (["dogs"] * 2, [[A], [A, -5]], InputError, "caption 1, token 1: the id -5 is not in"),
    ],
)
def test_what_cannot_be_read_is_refused(
    images: Any, captions: Any, error: type[CideryError], message: str
) -> None:
    reward = small_reward(**SPECIAL)
    with pytest.raises(error, match=message):
        reward(images, captions)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "bleu"}, "names 4 metrics"),
        ({"metric": "sparkle"}, "unknown metric"),
        ({"metric": {"cider-d": "much"}}, "must be a number"),
        ({"metric": {"cider-d": float("nan")}}, "must be finite"),
        ({"metric": {"cider-d": 1.0, cidery.CiderD(): 1.0}}, "same metric twice"),
        ({"metric": {}}, "no metrics"),
        ({"eos": 2}, "need vocabulary="),
        ({"vocabulary": VOCABULARY, "count_eos": True}, "needs eos="),
        ({"vocabulary": {"dog": 1}}, "turn .* round"),
        ({"vocabulary": {-1: "dog"}}, "from 0 on"),
        ({"vocabulary": [1, 2]}, "to words"),
        ({"vocabulary": []}, "empty"),
        ({"vocabulary": "a dog"}, "not str"),
        ({"vocabulary": {1 << 40: "dog"}}, "must be below"),
        ({"vocabulary": VOCABULARY, "eos": "<eos>"}, "eos is a token id, not '<eos>'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        cidery.Reward(SMALL, **settings)


def test_token_ids_need_a_vocabulary_and_references_are_needed() -> None:
    for captions in (ROWS, ROWS.tolist()):
        with pytest.raises(SettingError, match=r"vocabulary=\{id: word\}"):
            small_reward()(["dogs", "cats"], captions)
    with pytest.raises(InputError, match="references: there are no images"):
        cidery.Reward({})
