"""Causes: known deviations from the standard pipeline, each with a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from cidery.auditing.audit_data import AuditData
from cidery.auditing.pipelines import (
    AuditPipeline,
    ImageSelection,
    ReferenceSelection,
    TokenEdit,
)
from cidery.errors import SettingError

BATCH_SIZES = (1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000)
_COMMON_SIZES = (1, 8, 10, 16, 32, 50, 64, 100, 128, 256, 500, 1000)
_HEADS = (10, 50, 100, 200, 500, 1000, 2000, 2500, 3000, 4000)
_MOST_REFERENCES = 50


@dataclass(frozen=True)
class Cause:
    """Deviation from the standard pipeline that changes scores.

    ```python
    from cidery.auditing import find_cause

    find_cause("no-tokenizer").sentence
    ```
    """

    id: str
    family: str
    """Step: tokenizer, ids, references, weights, metric, averaging, scale or rounding."""
    sentence: str
    common: int
    """Rough frequency, 1 to 100; it orders equally simple explanations."""
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Fields of `AuditPipeline` that it changes."""
    options: tuple[str, ...] | None = None
    """Options of `cidery score` that do the same; None: there are none."""
    label: str | None = None
    """Metric of `cidery score` that does the same; `{}` stands for its name."""
    single_only: bool = False
    """True where the cause is too rare, or changes too little, to be combined with others."""

    def apply(self, pipeline: AuditPipeline) -> AuditPipeline | None:
        """Return the pipeline with this cause; None where another has changed the same."""
        if any(getattr(pipeline, name) != getattr(_STANDARD, name) for name in self.changes):
            return None
        changed = replace(pipeline, **self.changes)
        keeps = changed.keep_case or changed.keep_punctuation
        return None if keeps and changed.splitter != "ptb" else changed


_STANDARD = AuditPipeline()


def _split(
    id: str, splitter: str, common: int, sentence: str, *options: str, single_only: bool = False
) -> Cause:
    return Cause(
        id,
        "tokenizer",
        sentence,
        common,
        {"splitter": splitter},
        options or None,
        single_only=single_only,
    )


_TOKENIZER = (
    _split(
        "no-tokenizer",
        "split",
        100,
        "No tokenizer: captions were split at blanks, with capitals and punctuation left on words.",
        "--tokenizer",
        "whitespace",
    ),
    _split(
        "lower-case-split",
        "lower-split",
        60,
        "No tokenizer but lower case: captions were lower-cased and split at blanks, with "
        "punctuation left on words.",
    ),
    Cause(
        "case-kept",
        "tokenizer",
        "Lower-casing is missing: capitals were kept (A and a are different words).",
        35,
        {"keep_case": True},
    ),
    Cause(
        "punctuation-kept",
        "tokenizer",
        "Punctuation was kept: full stops and commas count as words.",
        45,
        {"keep_punctuation": True},
    ),
    _split(
        "punctuation-deleted",
        "deleted",
        40,
        "Another tokenizer: lower case, punctuation deleted (dog's becomes dogs), split at blanks.",
    ),
    _split(
        "punctuation-deleted-case-kept",
        "deleted+case",
        12,
        "Another tokenizer: punctuation deleted, capitals kept, split at blanks.",
    ),
    _split(
        "regex-words",
        "words",
        38,
        r"Another tokenizer: lower-cased runs of letters and digits (the pattern \w+).",
    ),
    _split(
        "regex-words-case-kept",
        "words+case",
        10,
        r"Another tokenizer: runs of letters and digits (the pattern \w+), capitals kept.",
    ),
    _split(
        "nltk-tokenizer",
        "treebank",
        34,
        "Another tokenizer: Penn Treebank words as NLTK's word_tokenize cuts them, with capitals "
        "and punctuation.",
    ),
    _split(
        "nltk-tokenizer-lower-case",
        "treebank-lower",
        36,
        "Another tokenizer: lower-cased Penn Treebank words as NLTK's word_tokenize cuts them, "
        "with punctuation.",
    ),
    _split(
        "words-and-punctuation",
        "wordpunct",
        18,
        "Another tokenizer: lower case, words and runs of punctuation apart (NLTK's "
        "wordpunct_tokenize).",
    ),
    _split(
        "words-and-punctuation-case-kept",
        "wordpunct+case",
        9,
        "Another tokenizer: words and runs of punctuation apart, capitals kept.",
    ),
    _split(
        "words-and-marks",
        "each-mark",
        17,
        "Another tokenizer: lower case, every punctuation mark a word of its own.",
    ),
    _split(
        "words-and-marks-case-kept",
        "each-mark+case",
        8,
        "Another tokenizer: every punctuation mark a word of its own, capitals kept.",
    ),
    _split(
        "mteval-tokenizer",
        "13a",
        14,
        "Another tokenizer: mteval's 13a, as sacreBLEU has it, with capitals and punctuation.",
    ),
    _split(
        "mteval-tokenizer-lower-case",
        "13a-lower",
        10,
        "Another tokenizer: mteval's 13a, as sacreBLEU has it, in lower case, with punctuation.",
    ),
    _split(
        "references-not-tokenized",
        "references-split",
        30,
        "Only the candidates were tokenized; references were split at blanks, with capitals and "
        "punctuation.",
    ),
    _split(
        "candidates-not-tokenized",
        "candidates-split",
        28,
        "Only the references were tokenized; candidates were split at blanks, with capitals and "
        "punctuation.",
    ),
    _split(
        "references-only-lower-cased",
        "references-lower-split",
        8,
        "The candidates were tokenized; references were only lower-cased and split at blanks.",
    ),
    _split(
        "short-words-dropped",
        "long-words",
        8,
        "Words of one letter and words with digits were dropped, as tutorials clean Flickr8k.",
    ),
    _split(
        "characters",
        "characters",
        20,
        "Characters were scored instead of words: strings were given where lists of words were "
        "expected, on both sides.",
    ),
    _split(
        "references-as-characters",
        "references-spelled",
        24,
        "References were scored as lists of characters: strings were given where lists of words "
        "were expected.",
    ),
    _split("stemmed", "stems", 9, "Words were reduced to their stems before scoring."),
    _split("stop-words-removed", "no-stop-words", 6, "Stop words were removed before scoring."),
)

_TOKENS = (
    Cause(
        "end-token",
        "tokenizer",
        "An end token was counted as a word, in candidates and references.",
        32,
        {"tokens": TokenEdit(end=True)},
    ),
    Cause(
        "end-token-in-candidates",
        "tokenizer",
        "An end token was counted as a word, in candidates only.",
        28,
        {"tokens": TokenEdit(end=True, candidates_only=True)},
    ),
    Cause(
        "start-and-end-tokens",
        "tokenizer",
        "Start and end tokens were counted as words, in candidates and references.",
        14,
        {"tokens": TokenEdit(start=True, end=True)},
    ),
    *(
        Cause(
            f"references-cut-at-{limit}",
            "references",
            f"References were cut off after {limit} words, as training data often are.",
            4,
            {"tokens": TokenEdit(reference_limit=limit)},
            single_only=True,
        )
        for limit in (16, 20)
    ),
)


def _pair(id: str, pairing: str, common: int, sentence: str, *, single_only: bool = False) -> Cause:
    return Cause(id, "ids", sentence, common, {"pairing": pairing}, single_only=single_only)


_IDS = (
    _pair(
        "ids-shifted-down",
        "down",
        30,
        "Ids are shifted by one line: every caption was compared with the image of the next line.",
    ),
    _pair(
        "ids-shifted-up",
        "up",
        30,
        "Ids are shifted by one line: every caption was compared with the image of the line "
        "before.",
    ),
    _pair(
        "ids-shifted-down-one-lost",
        "down-cut",
        9,
        "Ids are shifted by one line, to the image of the next line; the last caption was lost.",
    ),
    _pair(
        "ids-shifted-up-one-lost",
        "up-cut",
        9,
        "Ids are shifted by one line, to the image of the line before; the first caption was lost.",
    ),
    _pair(
        "references-shifted-down",
        "references-down",
        7,
        "Captions are shifted by one image, in the order of the references.",
        single_only=True,
    ),
    _pair(
        "references-shifted-up",
        "references-up",
        7,
        "Captions are shifted back by one image, in the order of the references.",
        single_only=True,
    ),
    _pair(
        "matched-by-position",
        "position",
        22,
        "Ids were not used: the captions were matched with the references by their order in both "
        "files.",
    ),
    _pair(
        "matched-with-sorted-ids",
        "sorted-numbers",
        8,
        "Ids were not used: captions in the order of their file were matched with images sorted "
        "by number.",
        single_only=True,
    ),
    _pair(
        "matched-with-ids-sorted-as-text",
        "sorted-text",
        6,
        "Ids were not used: captions in the order of their file were matched with images sorted "
        "as text.",
        single_only=True,
    ),
    _pair(
        "swapped",
        "swapped",
        31,
        "Candidates and references are swapped: the first reference of each image was scored "
        "against the caption.",
    ),
    _pair(
        "swapped-all-references",
        "swapped-all",
        15,
        "Candidates and references are swapped: every reference was scored against the caption.",
    ),
)


def _select_images(
    id: str, images: ImageSelection, common: int, sentence: str, single_only: bool = False
) -> Cause:
    return Cause(id, "images", sentence, common, {"images": images}, single_only=single_only)


_DUPLICATES = (
    _select_images(
        "duplicates-counted",
        ImageSelection("all"),
        60,
        "Duplicated images were counted: every row was scored, where an image should count once.",
    ),
    _select_images(
        "last-duplicate-kept",
        ImageSelection("last"),
        40,
        "Of the captions of a duplicated image, the last was scored instead of the first.",
    ),
)
_MISSING = (
    _select_images(
        "missing-counted-as-empty",
        ImageSelection("empty"),
        60,
        "Missing images were counted: images without a caption got an empty one, which scores 0.",
    ),
)
MISSING_LEFT_OUT = Cause(
    "missing-left-out",
    "images",
    "Missing images were left out: images without a caption count neither in the score nor in the "
    "weights.",
    60,
    options=("--missing", "skip"),
)

_WEIGHTS = (
    Cause(
        "weights-coco-val2014",
        "weights",
        "Weights were counted on COCO val2014 (40,504 images), not on the references.",
        42,
        {"weights": "coco-val2014"},
        ("--frequencies", "coco-val2014"),
    ),
    Cause(
        "weights-coco-train2014",
        "weights",
        "Weights were counted on COCO train2014 (82,783 images), not on the references.",
        40,
        {"weights": "coco-train2014"},
        ("--frequencies", "coco-train2014"),
    ),
    Cause(
        "weights-from-results",
        "weights",
        "Weights were counted on the results (the candidates), not on the references.",
        30,
        {"weights": "results"},
    ),
    Cause(
        "weights-per-reference",
        "weights",
        "Weights were counted with every reference as an image of its own: five references as five "
        "images.",
        26,
        {"weights": "separate"},
    ),
    Cause(
        "weights-images-repeated",
        "weights",
        "Weights were counted with every image five times: five samples as five images, so that "
        "words that no reference has weigh more.",
        22,
        {"weights": "repeated"},
    ),
)
_WHOLE_FILE = Cause(
    "weights-of-all-references",
    "weights",
    "Weights were counted on all references of the file, also of images that were not scored.",
    25,
    {"weights": "whole-file"},
)


def _vary(
    family: str,
    id: str,
    variant: str,
    common: int,
    sentence: str,
    label: str | None = None,
    *,
    single_only: bool = False,
) -> Cause:
    return Cause(
        id,
        "metric",
        sentence,
        common,
        {family: variant},
        () if label else None,
        label,
        single_only=single_only,
    )


_CIDER = (
    _vary(
        "cider",
        "cider-instead-of-cider-d",
        "plain",
        50,
        "Plain CIDEr instead of CIDEr-D: no clipping and no penalty for length.",
        "cider:faithful=coco",
    ),
    _vary("cider", "cider-r-instead-of-cider-d", "r", 24, "CIDEr-R instead of CIDEr-D.", "cider-r"),
    _vary(
        "cider",
        "cider-of-the-paper",
        "paper",
        14,
        "CIDEr as its paper defines it: stemmed words, no factor of 10, no clipping.",
        "cider",
    ),
    _vary(
        "cider",
        "cider-d-of-the-paper",
        "d-paper",
        7,
        "CIDEr-D as its paper's equations say: relative counts are clipped, not raw ones.",
        "cider-d:faithful=paper",
        single_only=True,
    ),
    _vary(
        "cider",
        "cider-best-reference",
        "best-reference",
        4,
        "Plain CIDEr with the best reference of each image instead of their mean.",
        "cider:faithful=coco,over=max",
        single_only=True,
    ),
    _vary(
        "cider",
        "cider-without-weights",
        "no-idf",
        5,
        "Plain CIDEr without weights: all n-grams count alike.",
        "cider:faithful=coco,idf=no",
        single_only=True,
    ),
)
_CIDER_R = (
    _vary("cider", "cider-d-instead-of-cider-r", "d", 50, "CIDEr-D instead of CIDEr-R.", "cider-d"),
    _vary(
        "cider",
        "cider-instead-of-cider-r",
        "plain",
        25,
        "Plain CIDEr instead of CIDEr-R.",
        "cider:faithful=coco",
    ),
)
_BLEU = (
    _vary(
        "bleu",
        "bleu-of-sentences",
        "sentences",
        52,
        "BLEU of sentences was averaged, where the counts of all captions are pooled.",
    ),
    _vary(
        "bleu",
        "bleu-of-sentences-smoothed-epsilon",
        "sentences-epsilon",
        27,
        "Smoothed BLEU of sentences was averaged: 0.1 for no match (NLTK's method 1).",
    ),
    _vary(
        "bleu",
        "bleu-of-sentences-smoothed-add-one",
        "sentences-add-one",
        23,
        "Smoothed BLEU of sentences was averaged: 1 was added to counts (NLTK's method 2).",
    ),
    _vary(
        "bleu",
        "bleu-of-sentences-smoothed-exponential",
        "sentences-exponential",
        20,
        "Smoothed BLEU of sentences was averaged: 1/2, 1/4, … for no match (NLTK's method 3, "
        "sacreBLEU's exp).",
    ),
    _vary(
        "bleu",
        "bleu-of-sentences-smoothed-by-length",
        "sentences-by-length",
        9,
        "Smoothed BLEU of sentences was averaged: by the caption's length (NLTK's method 4).",
    ),
    *(
        _vary(
            "bleu",
            f"bleu-smoothed-{smoothing}",
            smoothing,
            16,
            f"Smoothed BLEU: {words} in the pooled counts.",
            f"{{}}:faithful=paper,smoothing={smoothing}",
        )
        for smoothing, words in (
            ("add-one", "1 was added to matches and n-grams"),
            ("exponential", "1/2, 1/4, … stand for no match"),
            ("epsilon", "0.1 stands for no match"),
        )
    ),
    _vary(
        "bleu",
        "bleu-without-brevity-penalty",
        "no-brevity",
        10,
        "BLEU without its penalty for short captions.",
        "{}:brevity=no",
    ),
    _vary(
        "bleu",
        "bleu-shortest-reference",
        "shortest",
        11,
        "BLEU's penalty compares with the shortest reference, not with the closest in length.",
        "{}:reference_length=shortest",
    ),
    _vary(
        "bleu",
        "bleu-average-reference",
        "average",
        8,
        "BLEU's penalty compares with the references' average length, not with the closest.",
        "{}:reference_length=average",
    ),
    _vary(
        "bleu",
        "bleu-precision-only",
        "precision",
        9,
        "The precision of n-grams of one length alone, where BLEU combines all shorter ones.",
    ),
    _vary(
        "bleu",
        "bleu-mean-of-orders",
        "mean-of-orders",
        7,
        "The mean of BLEU-1 to BLEU-4 was taken.",
    ),
    *(
        _vary(
            "bleu",
            f"bleu-{n}-reported",
            f"order-{n}",
            8,
            f"It is BLEU-{n}, reported under the name of another one.",
            f"bleu-{n}",
            single_only=True,
        )
        for n in range(1, 5)
    ),
)
_ROUGE = (
    _vary("rouge", "rouge-beta-1", "beta-1", 45, "ROUGE-L with β = 1, not 1.2.", "{}:beta=1"),
    _vary("rouge", "rouge-beta-2", "beta-2", 20, "ROUGE-L with β = 2, not 1.2.", "{}:beta=2"),
    _vary("rouge", "rouge-recall", "recall", 14, "ROUGE-L's recall was taken, not its F."),
    _vary("rouge", "rouge-precision", "precision", 6, "ROUGE-L's precision was taken, not its F."),
    _vary(
        "rouge",
        "rouge-best-reference",
        "best-f",
        24,
        "ROUGE-L's F₁ against the best single reference, as the rouge_score package computes it.",
    ),
    _vary(
        "rouge",
        "rouge-mean-of-references",
        "mean-f",
        13,
        "ROUGE-L's F₁ averaged over the references, where the best counts.",
    ),
)
_METEOR = (
    _vary(
        "meteor",
        "meteor-of-sentences",
        "sentences",
        40,
        "METEOR of sentences was averaged, where the statistics of all captions are pooled.",
    ),
    _vary(
        "meteor",
        "meteor-nltk",
        "nltk",
        44,
        "METEOR as NLTK's meteor_score computes it (the version of 2007 with its older "
        "parameters), averaged over captions, instead of METEOR 1.5.",
    ),
    _vary(
        "meteor",
        "meteor-nltk-without-synonyms",
        "nltk-stems",
        12,
        "METEOR as NLTK's meteor_score computes it, with exact words and stems only, instead of "
        "METEOR 1.5.",
    ),
    _vary(
        "meteor",
        "meteor-nltk-exact-words",
        "nltk-exact",
        8,
        "METEOR as NLTK's meteor_score computes it, with exact words only, instead of METEOR 1.5.",
    ),
    _vary(
        "meteor",
        "meteor-2005",
        "2005",
        18,
        "METEOR of 2005 (α 0.9, β 3, γ 0.5), averaged over captions, instead of METEOR 1.5.",
    ),
    _vary(
        "meteor",
        "meteor-2007",
        "2007",
        22,
        "METEOR of 2007 (α 0.81, β 0.83, γ 0.28), averaged over captions, instead of METEOR 1.5.",
    ),
    _vary(
        "meteor",
        "meteor-2005-pooled",
        "2005-pooled",
        8,
        "METEOR of 2005 (α 0.9, β 3, γ 0.5), pooled over captions, instead of METEOR 1.5.",
    ),
    _vary(
        "meteor",
        "meteor-2007-pooled",
        "2007-pooled",
        10,
        "METEOR of 2007 (α 0.81, β 0.83, γ 0.28), pooled over captions, instead of METEOR 1.5.",
    ),
    _vary(
        "meteor",
        "meteor-without-paraphrases",
        "words",
        12,
        "METEOR without its table of paraphrases.",
        "{}:paraphrases=no",
    ),
)


def _list_references(most: int) -> list[Cause]:
    """Return the causes that leave references out, for up to `most` references per image."""
    causes = [
        Cause(
            f"first-{count}-references" if count > 1 else "first-reference",
            "references",
            f"Only the first {count} references of each image were used."
            if count > 1
            else "Only the first reference of each image was used.",
            {1: 44, 5: 28}.get(count, 18),
            {"references": ReferenceSelection("first", count)},
            single_only=count > 5,
        )
        for count in range(1, min(most, _MOST_REFERENCES + 1))
    ]
    if most > 1:
        causes += [
            Cause(
                "last-reference",
                "references",
                "Only the last reference of each image was used, as where a dictionary keeps one.",
                26,
                {"references": ReferenceSelection("last")},
            ),
            Cause(
                "references-as-images",
                "references",
                "Every reference was scored as an image of its own, against the same caption.",
                25,
                {"references": ReferenceSelection("separate")},
            ),
            Cause(
                "references-joined",
                "references",
                "All references of an image were joined to one long text.",
                7,
                {"references": ReferenceSelection("joined")},
                single_only=True,
            ),
        ]
    causes.append(
        Cause(
            "string-as-references",
            "references",
            "A string was given where a list of references was expected: each character of the "
            "first reference counts as a reference.",
            23,
            {"references": ReferenceSelection("characters")},
            single_only=True,
        )
    )
    return causes


def _list_batches(count: int) -> list[Cause]:
    return [
        Cause(
            f"averaged-per-batch-of-{size}",
            "averaging",
            f"Scores were computed for {size} images at a time, with weights counted on those, and "
            "then averaged."
            if size > 1
            else "Every image was scored by itself, and the scores averaged: CIDEr's weights are "
            "all 0.",
            20 if size in _COMMON_SIZES else 8,
            {"batch": size},
            single_only=size not in _COMMON_SIZES,
        )
        for size in BATCH_SIZES
        if size < count
    ]


def _list_heads(count: int) -> list[Cause]:
    return [
        _select_images(
            f"first-{size}-images",
            ImageSelection("head", size),
            6,
            f"Only the first {size} images were scored.",
            single_only=True,
        )
        for size in _HEADS
        if size < count
    ]


_ROUNDING = tuple(
    Cause(
        f"captions-rounded-to-{digits}",
        "rounding",
        f"The score of each caption was rounded to {digits} digit{'s' * (digits != 1)} before the "
        "mean was taken.",
        6,
        {"rounding": digits},
        single_only=True,
    )
    for digits in (0, 1, 2)
)

TRUNCATED = Cause(
    "digits-cut-off", "rounding", "Digits were cut off, where they should be rounded.", 12
)
ROUNDED_BEFORE = Cause(
    "rounded-before-scaling",
    "rounding",
    "The score was rounded before it was multiplied by 100: the printed zeros are not its digits.",
    12,
)
TIMES_100 = Cause(
    "times-100",
    "scale",
    "Scores were multiplied by 100. Papers print all scores so, which is no mistake; here it was "
    "done with some and not with others.",
    36,
)
SCALES: Mapping[Cause, float] = MappingProxyType(
    {
        Cause("times-10", "scale", "The score was multiplied by 10.", 40): 10.0,
        Cause(
            "divided-by-10",
            "scale",
            "The score was divided by 10: CIDEr-D's factor of 10 is missing.",
            30,
        ): 0.1,
        Cause("divided-by-100", "scale", "The score was divided by 100.", 10): 0.01,
        Cause("times-1000", "scale", "The score was multiplied by 1,000.", 5): 1000.0,
    }
)

_FIXED = (*_TOKENIZER, *_TOKENS, *_IDS, *_DUPLICATES, *_MISSING, MISSING_LEFT_OUT, *_WEIGHTS)
_FIXED += (_WHOLE_FILE, *_CIDER, *_CIDER_R, *_BLEU, *_ROUGE, *_METEOR, *_ROUNDING)
_INTERPRETATIONS = (*SCALES, TIMES_100, TRUNCATED, ROUNDED_BEFORE)


def list_causes() -> tuple[Cause, ...]:
    """Return all known causes.

    ```python
    [cause.id for cause in list_causes() if cause.family == "weights"]
    ```
    """
    numbered = (*_list_references(6), *_list_batches(10**9), *_list_heads(10**9))
    return (*_FIXED, *numbered, *_INTERPRETATIONS)


def find_cause(id: str) -> Cause:
    """Return the cause with that id."""
    every = (*_FIXED, *_INTERPRETATIONS, *_list_references(_MOST_REFERENCES + 1))
    every += (*_list_batches(10**9), *_list_heads(10**9))
    for cause in every:
        if cause.id == id:
            return cause
    from difflib import get_close_matches

    similar = get_close_matches(id, [cause.id for cause in every], n=1)
    hint = f"; did you mean {similar[0]!r}?" if similar else ""
    raise SettingError(f"unknown cause {id!r}{hint} (cidery audit --list-causes names all)")


def list_relevant(data: AuditData, metrics: Iterable[str]) -> list[Cause]:
    """Return the causes that can change these metrics' scores on these data."""
    claimed = set(metrics)
    families = {metric.partition("-")[0] for metric in claimed}
    causes = [*_TOKENIZER, *_TOKENS, *_IDS]
    if data.has_duplicates:
        causes += _DUPLICATES
    if len(data.missing):
        causes += _MISSING
    causes += _list_references(int(data.reference_counts[data.described].max()))
    causes += _list_batches(len(data.first_rows))
    causes += _list_heads(len(data.first_rows))
    if "cider" in families:
        causes += _WEIGHTS
        causes += [_WHOLE_FILE] if len(data.missing) else []
        causes += _CIDER_R if "cider-r" in claimed else _CIDER
    if "bleu" in families:
        orders = [metric for metric in claimed if metric.startswith("bleu")]
        # Where several orders are claimed, none of them can have been taken for another.
        known = {f"{metric}-reported" for metric in orders}
        single = len(orders) == 1
        causes += [
            c for c in _BLEU if not c.id.endswith("-reported") or (single and c.id not in known)
        ]
    if "rouge" in families:
        causes += _ROUGE
    if "meteor" in families:
        causes += _METEOR
    if families & {"cider", "rouge"}:
        causes += _ROUNDING
    return causes
