"""Shared by all drop-in classes: match and tokenize references and one candidate per image.

`gts` and `res` are the names that pycocoevalcap gives to references and candidates; they stay in
messages here, since that is what the caller wrote.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import InputError, MismatchError
from cidery.frequencies import DocumentFrequencies
from cidery.metrics import Metric
from cidery.metrics.base import GroupedCaptions, TokenizedCandidates, TokenizedReferences
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.text import Tokenizer, get_tokenizer, warn_script_problems

_EXAMPLES = 3


def split_blanks(caption: str) -> list[str]:
    """Split at every blank, as the original ROUGE does: two blanks have an empty word between."""
    return caption.split(" ")


SPLIT = get_tokenizer("whitespace")
"""Tokenizer of the original BLEU and CIDEr: split at any run of white space."""
SPLIT_BLANKS = Tokenizer("blanks", split_blanks)


@dataclass(frozen=True, eq=False)
class TokenizedCorpus:
    """Tokenized references and candidates."""

    references: TokenizedReferences
    candidates: TokenizedCandidates

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        tokenizer: Tokenizer,
        frequencies: str | DocumentFrequencies = "references",
    ) -> TokenizedCorpus:
        """Tokenize both sides, each as one document where the tokenizer reads documents."""
        warn_script_problems({"res": corpus.candidates, "gts": corpus.references}, tokenizer)
        offsets = corpus.reference_offsets.astype(np.uint64)
        groups = GroupedCaptions(tokenizer(corpus.references), offsets)
        images = corpus.candidate_images.astype(np.uint32)
        return cls(
            TokenizedReferences(groups, tokenizer, frequencies),
            TokenizedCandidates(tokenizer(corpus.candidates), images),
        )

    def weighted_by(self, frequencies: str | DocumentFrequencies) -> TokenizedCorpus:
        """Return the same captions with other document frequencies."""
        return replace(self, references=self.references.weighted_by(frequencies))

    def measure(self, metrics: Mapping[str, Metric], work: Workspace) -> dict[str, Floats]:
        """Return each metric's rows, in the order of the candidates."""
        return {
            label: metric.prepare(self.references, work).measure(self.candidates, work)
            for label, metric in metrics.items()
        }


def match_captions(gts: Any, res: Any) -> Corpus:
    """Match `{id: [reference, …]}` to `{id: [candidate]}`, in the order of the references."""
    for name, given in (("gts", gts), ("res", res)):
        if not isinstance(given, Mapping):
            raise InputError(
                f"{name}: expected a dict of captions by image id, not {type(given).__name__}"
            )
    if not gts:
        raise InputError("gts: there are no captions")
    if gts.keys() != res.keys():
        raise mismatch(gts, res)
    candidates = {}
    for image, captions in res.items():
        check_references(image, gts[image])
        candidates[image] = only_caption(image, captions)
    return match_rows(list(gts), [candidates[image] for image in gts], list(gts.values()))


def match_rows(
    images: Sequence[Hashable], candidates: list[str], references: Sequence[Sequence[str]]
) -> Corpus:
    """Return the corpus of one candidate for each image; the images name rows in messages."""
    names: list[Any] = list(images)
    # Any hashable may be an id here, and in rewards an image may come twice: both go by position.
    if not all(type(name) in (str, int) for name in names) or len(set(names)) < len(names):
        names = list(range(len(names)))
    return Corpus.build(
        dict(zip(names, candidates, strict=True)),
        dict(zip(names, references, strict=True)),
        candidates_name="res",
        references_name="gts",
    )


def match_entries(gts: Any, res: Any, *, merge: bool) -> Corpus:
    """Match `{id: [reference, …]}` to `[{"image_id": id, "caption": [candidate]}, …]`.

    With `merge`, the candidates of an image share its references; without, each entry is an image
    of its own, which is how the reward code counts document frequencies.
    """
    if not res:
        raise InputError("res: there are no captions")
    images: list[Hashable] = []
    candidates: list[str] = []
    for number, entry in enumerate(res, start=1):
        if not isinstance(entry, Mapping) or not {"image_id", "caption"} <= entry.keys():
            raise InputError(
                f"res: entry {number} is {_shorten(entry)}, expected "
                '{"image_id": …, "caption": ["…"]}'
            )
        image = entry["image_id"]
        if image not in gts:
            raise MismatchError(f"res: entry {number} is of image {image!r}, which is not in gts")
        images.append(image)
        candidates.append(only_caption(image, entry["caption"]))
    for image in dict.fromkeys(images):
        check_references(image, gts[image])
    if not merge:
        return match_rows(images, candidates, [gts[image] for image in images])
    kept = list(dict.fromkeys(images))
    place_of = dict(zip(kept, range(len(kept)), strict=True))
    return Corpus.build(
        [(place_of[image], caption) for image, caption in zip(images, candidates, strict=True)],
        {place: gts[image] for image, place in place_of.items()},
        candidates_name="res",
        references_name="gts",
    )


def check_references(image: Hashable, references: Any) -> None:
    """Raise an error unless it is a list of at least one reference."""
    if not isinstance(references, list | tuple):
        raise InputError(
            f"gts: image {image!r} has {_shorten(references)}, expected a list of references"
        )
    if not references:
        raise MismatchError(f"gts: image {image!r} has no references; remove it from gts and res")


def only_caption(image: Hashable, captions: Any) -> str:
    """Return the one caption of a list of one."""
    if not isinstance(captions, list | tuple):
        raise InputError(
            f"res: image {image!r} has {_shorten(captions)}, expected a list of one caption"
        )
    if len(captions) != 1:
        raise InputError(
            f"res: image {image!r} has {len(captions)} captions, expected exactly one; to score "
            "several captions for an image, use cidery.score"
        )
    caption: str = captions[0]
    return caption


def mismatch(gts: Mapping[Any, Any], res: Mapping[Any, Any]) -> MismatchError:
    """Return the error for ids that are on one side only."""
    parts = []
    for name, other_name, ids, other in (
        ("gts", "res", gts, res),
        ("res", "gts", res, gts),
    ):
        alone = [image for image in ids if image not in other]
        if alone:
            parts.append(f"{len(alone)} of {len(ids)} in {name} only: {_examples(alone)}")
        if len(alone) == len(ids) and ids and {str(i) for i in ids} & {str(i) for i in other}:
            parts.append(f"they look alike, but their types differ from those of {other_name}")
    return MismatchError(
        f"gts and res must have the same images, but they have not ({'; '.join(parts)}); leave "
        "out the images that lack references or a candidate"
    )


def _examples(images: Iterable[Hashable]) -> str:
    images = list(images)
    shown = ", ".join(map(repr, images[:_EXAMPLES]))
    return f"{shown}, …" if len(images) > _EXAMPLES else shown


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def choose_blank_tokenizer(captions: Iterable[str]) -> Tokenizer:
    """Return the native tokenizer where it splits these captions as `split(" ")` would.

    It does where words are parted by single blanks, as tokenizers write them. (A caption without
    any word is for ROUGE the one empty word that `"".split(" ")` gives: `faithful="coco"`.)
    """
    text = " ".join(filter(None, captions))
    return SPLIT if not text or text.split() == text.split(" ") else SPLIT_BLANKS
