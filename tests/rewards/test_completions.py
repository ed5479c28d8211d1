"""Rewards of completions: what trainers hand over, and what they must not."""

from __future__ import annotations

import pickle
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cidery
from cidery.compat import verl
from cidery.errors import CideryError, InputError, MissingExtraError, SettingError
from cidery.rewards import CompletionReward, count_ended_frequencies
from cidery.rewards.completions import read_completion

REFERENCES = {
    "dogs": ["a dog runs on the grass", "the dog is running"],
    "cats": ["a cat sleeps on a bed", "two cats sleep"],
    "boats": ["an old boat", "a boat in the harbour"],
}
GROUPS = [REFERENCES["dogs"], REFERENCES["cats"], REFERENCES["dogs"]]
TEXTS = ["a dog runs", "two cats", "a dog on the grass"]


@pytest.fixture(scope="module")
def frequencies() -> cidery.DocumentFrequencies:
    return cidery.DocumentFrequencies.from_references(REFERENCES)


@pytest.fixture(scope="module")
def reward(frequencies: cidery.DocumentFrequencies) -> CompletionReward:
    return CompletionReward("cider-d", frequencies=frequencies)


def test_values_are_those_of_reward(
    reward: CompletionReward, frequencies: cidery.DocumentFrequencies
) -> None:
    prepared = cidery.Reward(REFERENCES, "cider-d", frequencies=frequencies)
    expected = prepared(["dogs", "cats", "dogs"], TEXTS).tolist()
    assert min(expected) > 0
    found = reward(
        prompts=["say"] * 3, completions=TEXTS, completion_ids=[[1]] * 3, references=GROUPS, other=0
    )
    assert found == expected
    arrays = [np.array(group) for group in GROUPS]
    assert reward(TEXTS, references=arrays) == expected
    assert reward(TEXTS[:1], references=["a dog runs"]) == reward(
        TEXTS[:1], references=[["a dog runs"]]
    )
    assert reward([], references=[]) == []
    assert reward.__name__ == "cider-d"  # what TRL logs it as


def test_scale_and_clip(frequencies: cidery.DocumentFrequencies, reward: CompletionReward) -> None:
    plain = np.array(reward(TEXTS, references=GROUPS))
    high = float(np.median(plain))
    limited = CompletionReward("cider-d", frequencies=frequencies, scale=0.1, clip=(0, high))
    assert limited(TEXTS, references=GROUPS) == (0.1 * np.clip(plain, 0, high)).tolist()
    mixed = CompletionReward({"cider-d": 1, "bleu-1": 0.5}, frequencies=frequencies)
    bleu = CompletionReward("bleu-1")
    np.testing.assert_allclose(
        mixed(TEXTS, references=GROUPS), plain + 0.5 * np.array(bleu(TEXTS, references=GROUPS))
    )
    assert mixed.__name__ == "cider-d+bleu-1"


@pytest.mark.parametrize(
    "completion",
    [
        [{"role": "assistant", "content": "a dog runs"}],
        [
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "assistant", "content": "a dog runs"},
            {"role": "tool", "content": "42"},
        ],
        {"role": "assistant", "content": "a dog runs"},
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "image", "image": object()},
                    {"type": "text", "text": "a dog"},
                    {"type": "text", "text": "runs"},
                ],
            }
        ],
    ],
    ids=["messages", "tools", "message", "parts"],
)
def test_messages(reward: CompletionReward, completion: Any) -> None:
    assert reward([completion], references=GROUPS[:1]) == reward(
        ["a dog runs"], references=GROUPS[:1]
    )


@pytest.mark.parametrize("nothing", ["", None, [{"role": "assistant", "content": None}], []])
def test_empty_completions_earn_nothing(reward: CompletionReward, nothing: Any) -> None:
    assert reward([nothing], references=GROUPS[:1]) == [0.0]


def test_answers() -> None:
    reward = CompletionReward("bleu-1", answer="answer", without_answer=-1.0, scale=0.5)
    full = reward(["<answer>a dog</answer>"], references=["a dog"])
    texts = [
        "<think>a cat</think> <answer> a dog </answer> bye",
        "<answer>a cat</answer><answer>a dog</answer>",
        "a dog",
        "<answer>a dog",
        "</answer>a dog<answer>",
    ]
    assert reward(texts, references=["a dog"] * 5) == [*full, *full, -1.0, -1.0, -1.0]
    # A pattern could go back and forth over such a text for hours.
    assert reward(["<answer>" * 50_000], references=["a dog"]) == [-1.0]


def test_rows_without_references_are_left_out(reward: CompletionReward) -> None:
    some = reward(["x", TEXTS[0]], references=[None, GROUPS[0]])
    assert some == [None, *reward(TEXTS[:1], references=GROUPS[:1])]


@pytest.mark.parametrize(
    ("completions", "columns", "message"),
    [
        (
            ["a"],
            {"solution": ["a"]},
            "no column 'references'.*the columns are: 'solution'.*column=",
        ),
        (["a"], {}, "the columns are: none"),
        (["a", "b"], {"references": [["a"]]}, "a value for each of 2 completions, not 1"),
        (["a"], {"references": "a dog"}, "a value for each of 1 completions, not 'a dog'"),
        (["a", "b"], {"references": [["a"], []]}, r"completion 1 has no references: .* holds \[\]"),
        (["a"], {"references": [{"a": 1}]}, "completion 0 has no references"),
        (["a"], {"references": [["a", 3]]}, "completion 0 has a reference that is not text: 3"),
        ("a dog", {"references": ["a"]}, "expected a list of completions, not 'a dog'"),
        ([3], {"references": ["a"]}, "completion 0 is '3': expected a text or a list of messages"),
        ([["a"]], {"references": ["a"]}, "expected a text or a list of messages"),
    ],
)
def test_bad_input(
    reward: CompletionReward, completions: Any, columns: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        reward(completions, **columns)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "cannot be counted on the references of one batch; pass frequencies="),
        ({"frequencies": "references"}, "cannot be counted on the references of one batch"),
        ({"frequencies": "none.df"}, "no frequencies named 'none.df'"),
        ({"metric": "bleu-4", "clip": (1, 0)}, "clip must be .minimum, maximum."),
        ({"metric": "bleu-4", "scale": float("nan")}, "scale must be a finite number"),
        ({"metric": "bleu-4", "answer": "<answer>"}, "answer must be the name of a tag"),
        ({"metric": "no-such"}, "no-such"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(CideryError, match=message):
        CompletionReward(**settings)


def test_long_completions_and_other_scripts(frequencies: cidery.DocumentFrequencies) -> None:
    long = CompletionReward("cider-d", frequencies=frequencies)
    assert long(["dog " * 10_000], references=GROUPS[:1]) == [0.0]
    chinese = CompletionReward("rouge-l", tokenizer="char")
    assert chinese(["一只狗在跑", "🙂"], references=["一只狗在跑", "一只狗"]) == [1.0, 0.0]


def test_the_end_counts_only_where_a_completion_ended(tmp_path: Path) -> None:
    file = tmp_path / "train.df"
    count_ended_frequencies(REFERENCES).save(file)
    reward = CompletionReward("cider-d", frequencies=file, count_eos=True, eos=[2, 5])
    text, group = "the dog is running", [REFERENCES["dogs"]]
    ended, cut = reward([text] * 2, completion_ids=[[7, 8, 5], [7, 8]], references=group * 2)
    assert ended > cut > 0
    assert reward([text], references=group) == [ended]
    by_column = CompletionReward("cider-d", frequencies=file, count_eos=True)
    found = by_column([text] * 2, references=group * 2, is_truncated=[False, True])
    assert found == [ended, cut]
    with pytest.raises(InputError, match="completion_ids must have a value for each of 1"):
        reward([text], completion_ids=[[1], [2]], references=group)


def test_finished_needs_an_end_word() -> None:
    reward = cidery.Reward(REFERENCES, "bleu-1")
    with pytest.raises(SettingError, match="only valid with count_eos=True"):
        reward(["dogs"], ["a dog"], finished=[True])
    ending = cidery.Reward(REFERENCES, "bleu-1", count_eos=True)
    with pytest.raises(InputError, match="2 values of finished= for 1 captions"):
        ending(["dogs"], ["a dog"], finished=[True, False])
    ended, cut = ending(["dogs"] * 2, ["a dog runs"] * 2, finished=[True, False])
    assert ended != cut
    assert ended == ending(["dogs"], ["a dog runs"])[0]


def test_workers_map_the_same_file(tmp_path: Path) -> None:
    file = tmp_path / "train.df"
    cidery.DocumentFrequencies.from_references(REFERENCES).save(file)
    reward = CompletionReward("cider-d", frequencies=str(file))
    sent = pickle.dumps(reward)
    assert len(sent) < 1000  # the name of the file, not what it holds
    copy = pickle.loads(sent)
    assert copy(TEXTS, references=GROUPS) == reward(TEXTS, references=GROUPS)
    if sys.platform == "linux":
        assert str(file) in Path("/proc/self/maps").read_text()


def test_threads_share_a_reward(reward: CompletionReward) -> None:
    expected = reward(TEXTS, references=GROUPS)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(reward(TEXTS, references=GROUPS)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_verl(tmp_path: Path, reward: CompletionReward) -> None:
    file = tmp_path / "train.df"
    cidery.DocumentFrequencies.from_references(REFERENCES).save(file)
    settings = {"metric": "cider-d", "frequencies": str(file), "reward_router_address": None}
    expected = reward(TEXTS, references=GROUPS)
    assert verl.compute_scores(["c"] * 3, TEXTS, GROUPS, [None] * 3, **settings) == expected
    one = verl.compute_score("c", TEXTS[0], np.array(GROUPS[0]), {}, **settings)
    assert one == expected[0]
    with pytest.raises(InputError, match="completion 1 of 'c' has no ground_truth"):
        verl.compute_scores(["c", "c"], TEXTS[:2], [GROUPS[0], None], **settings)
    with pytest.raises(SettingError, match="remove column="):
        verl.compute_score("c", "a", ["a"], column="x", **settings)
    with pytest.raises(SettingError, match="reward_kwargs hold texts, numbers, lists and mixes"):
        verl.compute_score("c", "a", ["a"], metric=len)


def test_ms_swift_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from cidery.compat.ms_swift import make_orm

    monkeypatch.setitem(sys.modules, "swift.rewards", None)
    with pytest.raises(MissingExtraError, match="pip install ms-swift"):
        make_orm("bleu-4")


def test_texts_beside_messages_are_read() -> None:
    assert read_completion(["hi", {"role": "assistant", "content": "a"}], 0) == "a"
    assert read_completion(["hi", {"role": "tool", "content": "a"}], 0) == "hi"
