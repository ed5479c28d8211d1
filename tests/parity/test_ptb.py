"""The PTB tokenizer against the original: recorded tokens, and the jar run live."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cidery import _native
from support import jar, ptb_fuzz, reference_tools

FOLLOWING = {"The": "The zzend", "Cap": "Zork zzend", "num": "5 zzend"}


def assert_same(captions: Any, ours: Any, theirs: Any, allowed: Any = 0) -> None:
    wrong = [case for case in zip(captions, ours, theirs, strict=True) if case[1] != case[2]]
    assert len(wrong) <= allowed, f"{len(wrong)} of {len(captions)} differ: {wrong[:10]}"


def straight(captions: Any) -> Any:
    """Without the captions that make the original shift lines."""
    return [c for c in captions if not any(sign in c for sign in jar.LINE_BREAKS)]


@pytest.fixture(scope="module")
def golden(shared: Path) -> Any:
    with (shared / "golden" / "ptb_open.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize("kind", ["tokens", "clean"])
def test_golden_captions_by_themselves(golden: Any, kind: Any) -> None:
    texts = [entry["text"] for entry in golden]
    ours = _native.ptb_tokens(texts, clean=kind == "clean")
    assert_same(texts, ours, [entry[kind] for entry in golden])


@pytest.mark.parametrize("context", ["eof", *FOLLOWING])
def test_golden_captions_before_other_captions(golden: Any, context: Any) -> None:
    texts = [entry["text"] for entry in golden]
    after = [FOLLOWING[context]] if context in FOLLOWING else []
    ours = [_native.ptb_tokens([text, *after], document=True, clean=False)[0] for text in texts]
    theirs = [entry.get("alt", {}).get(context, entry["tokens"]) for entry in golden]
    assert_same(texts, ours, theirs)


def test_golden_documents(shared: Path) -> None:
    compared = 0
    with (shared / "golden" / "ptb_docs.jsonl").open(encoding="utf-8") as file:
        for entry in map(json.loads, file):
            captions = entry["captions"]
            ours = _native.ptb_tokens(captions, document=True)
            assert len(ours) == len(captions)
            if straight(captions) == captions:
                theirs = [line.split(" ") if line else [] for line in entry["out"]]
                assert_same(captions, ours, theirs)
                compared += 1
    assert compared >= 60


def test_captions_stay_aligned_where_the_original_shifts_lines() -> None:
    captions = ["a dog\rruns.", "two\u2028cats", "a\x0bb\x0cc", "the end"]
    expected = [["a", "dog", "runs"], ["two", "cats"], ["a", "b", "c"], ["the", "end"]]
    assert _native.ptb_tokens(captions, document=True) == expected
    assert _native.ptb_tokens(captions) == expected


@pytest.mark.parametrize("part", ["val2014", "train2014"])
def test_live_on_captions_of_coco(java: str, part: Any) -> None:
    """A quarter of val2014 and a twelfth of train2014; with CIDERY_EXAMPLES=new, all of both."""
    listed = reference_tools.coco_captions(part).values()
    captions = [caption.replace("\n", " ") for group in listed for caption in group]
    if os.environ.get("CIDERY_EXAMPLES") != "new":
        captions = captions[:: 12 if part == "train2014" else 4]
    ours = _native.ptb_tokens(captions, document=True, clean=False)
    assert_same(captions, ours, jar.jar_document(captions))
    assert_same(captions, _native.ptb_tokens(captions, clean=False), jar.jar_single(captions))


@pytest.mark.parametrize("seed", [2026, 2027])
def test_live_on_mutated_captions(java: str, seed: Any) -> None:
    listed = reference_tools.coco_captions("val2014").values()
    captions = ptb_fuzz.mutated_captions([c for group in listed for c in group], seed, 10_000)
    ours = _native.ptb_tokens(captions, clean=False)
    assert_same(captions, ours, jar.jar_single(captions), allowed=1)  # at most 1 in 10,000
    captions = straight(captions)
    ours = _native.ptb_tokens(captions, document=True, clean=False)
    assert_same(captions, ours, jar.jar_document(captions), allowed=1)


@pytest.mark.parametrize(
    "sign", ["-", ".", "'", '"', "<", "a@", "a.", "a-", "&", "(", "‘", "5 ", "a/"]
)
def test_long_runs_take_linear_time(sign: Any) -> None:
    """A quadratic scan of 400,000 characters would take minutes."""
    tokens = _native.ptb_tokens([sign * 400_000], clean=False)[0]
    assert tokens
