"""Debris of generation in captions: what is found, what is removed, what is left alone."""

from __future__ import annotations

import pytest

import cidery
from cidery.corpus import bundled
from cidery.errors import SettingError
from cidery.files import read_references
from cidery.text import KINDS, clean_captions, find_debris
from cidery.text.debris import check_debris_kinds

FOUND = {
    "reasoning": [
        ("<think>\nA dog, so…\n</think>\n\nA dog runs.", "A dog runs."),
        ("A dog, so… </think> A dog runs.", "A dog runs."),
        ("<think>never ends", ""),
        ("<answer>A dog runs.</answer>", "A dog runs."),
        ("<|channel|>analysis<|message|>Hm<|channel|>final<|message|>A dog.", "A dog."),
        ("◁think▷Hm◁/think▷A dog.", "A dog."),
    ],
    "special-tokens": [
        ("a dog runs<|im_end|>", "a dog runs"),
        ("<s> a dog runs </s>", "a dog runs"),
        ("a dog runs <eos><pad><pad>", "a dog runs"),
        ("[CLS] a dog runs [SEP] [PAD]", "a dog runs"),
        ("<|im_start|>assistant\na dog runs<|im_end|>\n", "a dog runs"),
        ("a dog<|endoftext|>", "a dog"),
        ("a dog<｜end▁of▁sentence｜>", "a dog"),
        ("<start_of_turn>model\na dog<end_of_turn>", "a dog"),
    ],
    "code-fence": [("```\na dog runs\n```", "a dog runs"), ("```text\na dog\n```", "a dog")],
    "html-entities": [
        ("a man&#39;s dog &amp; cat", "a man's dog & cat"),
        ("a &quot;stop&quot; sign", 'a "stop" sign'),
        ("a&nbsp;dog &amp;amp; cat", "a dog & cat"),
    ],
    "markdown": [
        ("**A dog** runs", "A dog runs"),
        ("# A dog runs", "A dog runs"),
        ("- A dog runs", "A dog runs"),
        ("A *big* dog", "A big dog"),
        ("![A dog](https://example.org/dog.jpg)", "A dog"),
        ("A dog<br>runs", "A dog runs"),
        ("A `dog` runs", "A dog runs"),
    ],
    "prefix": [
        ("Answer: a dog runs", "a dog runs"),
        ("Caption: a dog runs", "a dog runs"),
        ("assistant\na dog runs", "a dog runs"),
        ("assistant a dog runs", "a dog runs"),
        ("ASSISTANT: a dog runs", "a dog runs"),
        ("**Caption:** a dog runs", "a dog runs"),
        ("user\nDescribe the image.\nassistant\na dog runs", "a dog runs"),
        ("USER: <image> Describe it. ASSISTANT: a dog runs", "a dog runs"),
        ("Sure! Here is a caption for the image: a dog runs", "a dog runs"),
        ("答案：一只狗", "一只狗"),
    ],
    "quotes": [
        ('"a dog runs"', "a dog runs"),
        ("'a man's dog runs'", "a man's dog runs"),
        ("“a dog runs”", "a dog runs"),
        ('"a dog runs".', "a dog runs."),
        ("「狗」", "狗"),
    ],
}
LEFT_ALONE = [
    "a dog runs",
    "The image shows a dog.",
    'A sign that says "stop" and one that says "go".',
    '"stop" and "go" are on the signs"',
    "an assistant coach talks to players",
    "A caption is written on the wall",
    "a man & a woman at AT&T; and more",
    "a 2 * 3 grid of tiles * and + signs",
    "the file my_dog_photo is on a screen",
    "a <unk> dog",
    "a red-and-white bus - with people",
    "a dog sitting on the floor with its eyes on",
    "Sorry signs are on the wall",
    "a C# book [open] on a desk",
    "a man answers: yes",
    "two cats; one is asleep",
    "http://example.org is written on the wall",
]


@pytest.mark.parametrize(
    ("kind", "caption", "cleaned"),
    [(kind, *pair) for kind, pairs in FOUND.items() for pair in pairs],
)
def test_debris_is_found_and_removed(kind: str, caption: str, cleaned: str) -> None:
    assert kind in find_debris([caption])
    assert clean_captions([caption], [kind]) == [cleaned]
    assert kind not in find_debris([cleaned])


@pytest.mark.parametrize(
    "caption",
    [
        "I'm sorry, but I can't see the image.",
        "Sorry, I cannot help with that.",
        "As an AI language model, I cannot see images.",
        "I am unable to view the image.",
        "Please provide an image.",
        "There is no image here to provide a caption for.",
        "抱歉，我无法看到图片。",
    ],
)
def test_refusals_are_found(caption: str) -> None:
    assert find_debris([caption]) == {"refusal": [0]}


def test_cut_endings_are_found() -> None:
    paragraph = "The image shows a dog on the grass. It runs after a red ball. A man watches. " * 2
    assert find_debris(
        ["a kitchen with a sink and a", "a dog on a beach", paragraph + "In the"]
    ) == {"truncated": [0, 2]}


@pytest.mark.parametrize("caption", LEFT_ALONE)
def test_other_captions_are_left_alone(caption: str) -> None:
    assert find_debris([caption]) == {}
    assert clean_captions([caption], check_debris_kinds(FOUND)) == [caption]


def test_the_bundled_example_has_no_debris() -> None:
    references = [
        c for group in read_references(bundled.path("references.json")).values() for c in group
    ]
    assert find_debris(references) == {}


def test_several_kinds_are_removed_in_any_order() -> None:
    caption = '<think>Hm</think>**Answer:** "a man&#39;s dog"<|im_end|>'
    everything = list(FOUND)
    assert clean_captions([caption], everything) == ["a man's dog"]
    assert clean_captions([caption], reversed(everything)) == ["a man's dog"]
    assert clean_captions(["  a dog "], everything) == ["  a dog "]


def test_kinds_are_checked() -> None:
    assert check_debris_kinds("prefix, special-tokens") == ("special-tokens", "prefix")
    with pytest.raises(SettingError, match="unknown kind of debris 'html'; known: reasoning,"):
        clean_captions([], ["html"])
    with pytest.raises(SettingError, match="'refusal' is found but cannot be removed"):
        clean_captions([], ["refusal"])


def test_kinds_have_descriptions() -> None:
    assert list(KINDS) == [kind.name for kind in KINDS.values()]
    assert cidery.text.KINDS is KINDS
