"""Published agreement with people, and the settings that reproduce it.

CIDEr: Vedantam, Zitnick, Parikh, CVPR 2015. CIDEr-R: Santos, Colombini, Avila, 2021. Variance: Yi,
Deng, Hu, "Improving image captioning evaluation by considering inter references variance", ACL
2020. Diversity: Wang, Chan, "Describing like humans: on diversity in image captioning", CVPR 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_KINDS = ("accuracy_HC", "accuracy_HI", "accuracy_HM", "accuracy_MM")
_BOTH_KINDS = (*_KINDS, "accuracy")
SAME_TOLERANCE, CLOSE_TOLERANCE = 0.1, 2.5
"""Maximum difference, in points, of the verdicts `same` and `close`; another draw of five
references changes an accuracy by up to two."""


@dataclass(frozen=True)
class ComparedValue:
    """A published value, or a claim without one, beside the computed value."""

    source: str
    quantity: str
    metric: str
    published: float | None
    """None for a claim without a number."""
    computed: float | None
    """None if it cannot be computed; the note has the reason."""
    note: str = ""
    finding: str = ""
    """Verdict on a claim without a number."""

    @property
    def difference(self) -> float | None:
        """Computed minus published."""
        if self.computed is None or self.published is None:
            return None
        return self.computed - self.published

    @property
    def verdict(self) -> str:
        """`same`, `close`, `differs` or `not computed`; for claims without numbers, the finding."""
        if self.computed is None:
            return "not computed"
        if self.finding or self.difference is None:
            return self.finding
        apart = abs(self.difference)
        return (
            "same"
            if apart <= SAME_TOLERANCE
            else "close"
            if apart <= CLOSE_TOLERANCE
            else "differs"
        )


@dataclass(frozen=True)
class PublishedTable:
    """Published values that one evaluation reproduces."""

    source: str
    dataset: str
    quantity: str
    """Description for tables: number of references, question."""
    published: Mapping[str, Mapping[str, float]]
    """metric -> statistic -> value, in percent"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of `evaluate`."""
    note: str = ""
    """Ambiguity of the published protocol, or difference of the data."""


def _rows(names: tuple[str, ...], **published: tuple[float, ...]) -> dict[str, dict[str, float]]:
    """Return metric -> statistic -> value; `rouge_l` means `rouge-l`."""
    return {
        metric.replace("_", "-"): dict(zip(names, values, strict=True))
        for metric, values in published.items()
    }


FIRST_48: Mapping[str, Any] = MappingProxyType({"references": 48, "draw": "first"})
_WHICH_48 = (
    "The paper does not say which 48 of 50 references it uses, or how BLEU is smoothed; cidery "
    "uses the first 48, coco-caption's BLEU and ROUGE-L, and the paper's CIDEr"
)
_OWN_5 = {"references": 5, "draw": "own"}
_ANY_5 = "Fixed draw of 5 references of each pair; other draws differ by up to 2 points"
_PAIRS_OF_SYSTEMS = "The paper's judgments of 100 images are not published; 1,000 MM pairs are used"
_UNSMOOTHED = "The paper's BLEU-4 fits BLEU without coco-caption's constants"
_ABSTRACT_KINDS = "The data do not distinguish HC and HI"

PUBLISHED_TABLES: tuple[PublishedTable, ...] = (
    PublishedTable(
        "CIDEr, 7.2",
        "pascal-50s",
        "48 references, triplets",
        _rows(("accuracy",), cider=(84.0,)),
        FIRST_48,
        _WHICH_48,
    ),
    PublishedTable(
        "CIDEr, Table 1",
        "pascal-50s",
        "48 references, triplets",
        _rows(
            _KINDS,
            bleu_4=(64.8, 97.7, 93.8, 63.6),
            rouge_l=(66.3, 98.5, 95.8, 64.4),
            meteor=(65.2, 99.3, 96.4, 67.7),
            cider=(71.8, 99.7, 92.1, 72.2),
        ),
        FIRST_48,
        _WHICH_48,
    ),
    PublishedTable(
        "CIDEr, 7.2",
        "pascal-50s",
        "5 references, triplets",
        _rows(("accuracy",), bleu_1=(76.0,), rouge_1=(74.0,)),
        _OWN_5,
        _ANY_5,
    ),
    PublishedTable(
        "CIDEr, Appendix I",
        "pascal-50s",
        "5 references, preference",
        _rows(
            ("accuracy",),
            rouge_l=(75.6,),
            bleu_4=(74.75,),
            rouge_1=(73.15,),
            bleu_1=(73.4,),
            meteor=(79.5,),
        ),
        {**_OWN_5, "protocol": "preference"},
        _ANY_5,
    ),
    PublishedTable(
        "CIDEr, 7.3",
        "pascal-50s",
        "wins of five systems",
        _rows(("pearson",), cider=(98.0,)),
        {**FIRST_48, "protocol": "wins"},
        f"{_PAIRS_OF_SYSTEMS}, with equal weights of pairs",
    ),
    PublishedTable(
        "CIDEr, 7.3",
        "pascal-50s",
        "wins of five systems, balanced",
        _rows(("pearson_balanced",), cider=(98.0,)),
        {**FIRST_48, "protocol": "wins"},
        f"{_PAIRS_OF_SYSTEMS}, with equal weights of opponents",
    ),
    PublishedTable(
        "CIDEr, 7.2",
        "abstract-50s",
        "48 references, triplets",
        _rows(("accuracy",), cider=(84.0,)),
        {},
        "12 tied pairs are dropped",
    ),
    PublishedTable(
        "CIDEr, Table 1",
        "abstract-50s",
        "48 references, triplets",
        _rows(("accuracy",), bleu_4=(79.25,), rouge_1=(81.25,), meteor=(81.75,), cider=(83.75,)),
        {},
        f"{_ABSTRACT_KINDS}; published is the mean of both",
    ),
    PublishedTable(
        "CIDEr, 7.4",
        "abstract-50s",
        "24 references predict the majority of 24",
        _rows(("accuracy",), human=(83.0,), cider=(82.0,)),
        {"protocol": "human", "draws": 10},
        "Mean of 10 random halves; ties of the predicted half count as wrong, those of the other "
        "half are dropped",
    ),
    PublishedTable(
        "CIDEr, 7.2",
        "flickr8k-expert",
        "5 references, expert ratings",
        _rows(("spearman",), meteor=(56.0,), cider=(58.0,)),
        {"resamples": 0},
        "All single ratings, except those of an image's own captions",
    ),
    PublishedTable(
        "Variance, Table 1",
        "coco-2015",
        "12 systems, M1 and M2",
        _rows(
            ("pearson_M1", "pearson_M2"),
            rouge_l=(6.2, 21.5),
            bleu_1=(2.9, 16.5),
            bleu_4=(23.6, 38.0),
            cider_d=(44.0, 53.9),
            meteor=(70.3, 70.1),
            spice=(71.5, 68.8),
        ),
        {"references": 5},
        "The paper scores captions of validation images, which are not published; cidery uses the "
        "leaderboard's scores on test images",
    ),
    PublishedTable(
        "Variance, Table 3",
        "flickr8k-expert",
        "5 references, expert ratings",
        {
            **_rows(("tau_b",), bleu_1=(31.8,), rouge_l=(32.3,), meteor=(43.6,), cider_d=(44.7,)),
            "bleu-4:faithful=paper": {"tau_b": 14.0},
        },
        {"mean_ratings": True, "resamples": 0},
        f"τ-b with the mean of three ratings, as in the authors' code. {_UNSMOOTHED}",
    ),
    PublishedTable(
        "Variance, Table 3",
        "composite",
        "ratings of correctness",
        {
            **_rows(("tau_b",), bleu_1=(28.2,), rouge_l=(31.3,), meteor=(38.1,), cider_d=(38.7,)),
            "bleu-4:faithful=paper": {"tau_b": 19.9},
        },
        {"resamples": 0},
        "The human candidate is not among the references; the paper does not say. "
        f"τ-b, as the authors' code for Flickr8k-Expert. {_UNSMOOTHED}",
    ),
    PublishedTable(
        "Variance, Table 4",
        "pascal-50s",
        "5 references, preference",
        _rows(
            _BOTH_KINDS,
            bleu_1=(53.1, 94.7, 90.9, 56.9, 73.9),
            bleu_4=(53.3, 92.8, 85.2, 60.5, 73.0),
            rouge_l=(55.6, 95.1, 93.3, 57.7, 75.4),
            meteor=(61.4, 97.2, 94.9, 64.5, 79.5),
            cider_d=(55.0, 98.0, 91.0, 64.6, 77.2),
        ),
        {**_OWN_5, "protocol": "preference"},
        f"The HC column of the paper fits preferences, not triplets. {_ANY_5}",
    ),
    PublishedTable(
        "CIDEr-R, Table 3",
        "cider-r-triplets",
        "15 triplets",
        _rows(
            ("accuracy",),
            cider_r=(100 * 4 / 15,),
            cider_d=(100 * 1 / 15,),
            spice=(100 * 11 / 15,),
            meteor=(100 * 4 / 15,),
            rouge_l=(100 * 1 / 15,),
            bleu_4=(0.0,),
        ),
        {},
        "BLEU-4 of triplet 15, 5e-7 and 4e-7, is equal in print only. By the printed scores SPICE "
        "is right on 10 of 15, not on 11",
    ),
)

NOT_REPRODUCIBLE: tuple[tuple[str, str], ...] = (
    (
        "CIDEr, 7.1 (Figure 3a), except the values above",
        "the pilot's 120 references per image are not published",
    ),
    ("CIDEr, 7.4, PASCAL-50S (90 and 82)", "its triplets by reference are not published"),
    (
        "Variance, Table 2 (references concatenated)",
        "the twelve systems' captions are not published; "
        "`evaluate(..., concatenate=True)` runs the protocol on any other data set",
    ),
    (
        "Variance, BERTScore, LEIC and (except Table 1) SPICE in Tables 1-4",
        "LEIC is not built in; BERTScore and SPICE are, but not with the model and the tool of "
        "the paper",
    ),
    ("Variance, Table 5", "the captions of its captioning models are not published"),
    ("CIDEr-R, Table 2", "the captioning models and #PraCegoVer are not published"),
    (
        "CIDEr-R, Figure 3, other numbers of references, and SPICE",
        "a curve; `--protocol references --plot FILE` plots it",
    ),
    ("Diversity, Figures 2-11", "the captions of its captioning models are not published"),
    ("Diversity, Table 2", "the ratings of its sets of captions are not published"),
)
"""Published results that the data do not allow, and the reasons."""
