"""Published numbers of agreement with people, and how each is computed here.

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
SAME, CLOSE = 0.1, 2.5
"""Up to so many points, a number is the same as the printed one, or close to it: another draw of
five references moves an accuracy by up to two."""


@dataclass(frozen=True)
class Line:
    """A published number, or a claim without one, and what is found here."""

    source: str
    what: str
    metric: str
    published: float | None
    """None where the paper makes the claim in words."""
    ours: float | None
    """None where it could not be computed; the note says why."""
    note: str = ""
    finding: str = ""
    """The verdict on a claim in words."""

    @property
    def difference(self) -> float | None:
        """Ours minus published."""
        if self.ours is None or self.published is None:
            return None
        return self.ours - self.published

    @property
    def verdict(self) -> str:
        """`same`, `close`, `differs` or `not computed`; for a claim in words, the finding."""
        if self.ours is None:
            return "not computed"
        if self.finding or self.difference is None:
            return self.finding
        apart = abs(self.difference)
        return "same" if apart <= SAME else "close" if apart <= CLOSE else "differs"


@dataclass(frozen=True)
class Experiment:
    """Published values of several metrics that one evaluation gives."""

    source: str
    dataset: str
    what: str
    """Number of references, question and the like, as tables show it."""
    published: Mapping[str, Mapping[str, float]]
    """metric -> statistic -> value, in percent"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For `evaluate`."""
    note: str = ""
    """Where the published protocol is ambiguous or the data differ."""


def _rows(names: tuple[str, ...], **published: tuple[float, ...]) -> dict[str, dict[str, float]]:
    """Return metric -> statistic -> value; `rouge_l` stands for `rouge-l`."""
    return {
        metric.replace("_", "-"): dict(zip(names, values, strict=True))
        for metric, values in published.items()
    }


FIRST_48: Mapping[str, Any] = MappingProxyType({"references": 48, "draw": "first"})
_WHICH_48 = (
    "The paper drops 2 of 50 references without saying which, and does not say how BLEU was "
    "smoothed; here the first 48, coco-caption's BLEU and ROUGE-L, the paper's CIDEr"
)
_OWN_5 = {"references": 5, "draw": "own"}
_ANY_5 = "Which 5 references is not said; here each pair's fixed draw. Other draws differ by 2"
_PAIRS_OF_SYSTEMS = (
    "The paper compares all systems on 100 images with 20 references; those judgments are not "
    "among the data. Here the 1,000 MM pairs"
)
_ABSTRACT_KINDS = "The data do not say which pairs are HC and which HI"

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "CIDEr, 7.2",
        "pascal-50s",
        "48 references, triplets",
        _rows(("accuracy",), cider=(84.0,)),
        FIRST_48,
        _WHICH_48,
    ),
    Experiment(
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
    Experiment(
        "CIDEr, 7.2",
        "pascal-50s",
        "5 references, triplets",
        _rows(("accuracy",), bleu_1=(76.0,), rouge_1=(74.0,)),
        _OWN_5,
        _ANY_5,
    ),
    Experiment(
        "CIDEr, Appendix I",
        "pascal-50s",
        "5 references, which is better?",
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
    Experiment(
        "CIDEr, 7.3",
        "pascal-50s",
        "fraction of wins of five systems",
        _rows(("pearson",), cider=(98.0,)),
        {**FIRST_48, "protocol": "wins"},
        f"{_PAIRS_OF_SYSTEMS}, in which systems 1 and 2 meet 222 times and others 73 to 97 times; "
        "every pair counts alike",
    ),
    Experiment(
        "CIDEr, 7.3",
        "pascal-50s",
        "fraction of wins of five systems, every opponent counts alike",
        _rows(("pearson_balanced",), cider=(98.0,)),
        {**FIRST_48, "protocol": "wins"},
        f"{_PAIRS_OF_SYSTEMS}; a system's share is the mean of its shares against each of the "
        "other four, as where all meet equally often. Tried too: 20 references drawn by seeds 0 "
        "and 1 give 84.6 and 89.9, all 48 and the votes on which is better 93.3",
    ),
    Experiment(
        "CIDEr, 7.2",
        "abstract-50s",
        "48 references, triplets",
        _rows(("accuracy",), cider=(84.0,)),
        {},
        "12 pairs on which people are tied are dropped; the paper does not speak of ties",
    ),
    Experiment(
        "CIDEr, Table 1",
        "abstract-50s",
        "48 references, triplets",
        _rows(("accuracy",), bleu_4=(79.25,), rouge_1=(81.25,), meteor=(81.75,), cider=(83.75,)),
        {},
        f"{_ABSTRACT_KINDS}; published is the mean of both",
    ),
    Experiment(
        "CIDEr, 7.4",
        "abstract-50s",
        "24 references predict the majority of 24",
        _rows(("accuracy",), human=(83.0,), cider=(82.0,)),
        {"protocol": "human", "draws": 10},
        "Mean of 10 random halves; ties of the predicted half count as wrong, of the other are "
        "dropped",
    ),
    Experiment(
        "CIDEr, 7.2",
        "flickr8k-expert",
        "5 references, expert ratings",
        _rows(("spearman",), meteor=(56.0,), cider=(58.0,)),
        {"resamples": 0},
        "The paper cites others for the protocol; here all single ratings but those of an image's "
        "own captions",
    ),
    Experiment(
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
        "The paper scores captions of the validation images, which are not among the data; here "
        "the server's scores on test images. Table 2 gives BLEU-1 as 30.7 and 33.8",
    ),
    Experiment(
        "Variance, Table 3",
        "flickr8k-expert",
        "5 references, expert ratings",
        _rows(
            ("tau_c",),
            bleu_1=(31.8,),
            bleu_4=(14.0,),
            rouge_l=(32.3,),
            meteor=(43.6,),
            cider_d=(44.7,),
        ),
        {"resamples": 0},
        "Which Kendall coefficient, and of single or averaged ratings, is not said; here τ-c of "
        "single ones",
    ),
    Experiment(
        "Variance, Table 3",
        "composite",
        "ratings of correctness",
        _rows(
            ("tau_c",),
            bleu_1=(28.2,),
            bleu_4=(19.9,),
            rouge_l=(31.3,),
            meteor=(38.1,),
            cider_d=(38.7,),
        ),
        {"resamples": 0},
        "Whether the human candidate stays among the references is not said; here it does not",
    ),
    Experiment(
        "Variance, Table 4",
        "pascal-50s",
        "5 references, which is better?",
        _rows(
            _BOTH_KINDS,
            bleu_1=(53.1, 94.7, 90.9, 56.9, 73.9),
            bleu_4=(53.3, 92.8, 85.2, 60.5, 73.0),
            rouge_l=(55.6, 95.1, 93.3, 57.7, 75.4),
            meteor=(61.4, 97.2, 94.9, 64.5, 79.5),
            cider_d=(55.0, 98.0, 91.0, 64.6, 77.2),
        ),
        {**_OWN_5, "protocol": "preference"},
        "The paper speaks of consensus, but its HC column fits only the votes on which is better. "
        f"{_ANY_5}",
    ),
    Experiment(
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
        "The fifteenth triplet's BLEU-4, 5e-7 and 4e-7, are equal in print only. By its own "
        "printed scores SPICE is right on 10 of 15, not on 11",
    ),
)

ABSENT: tuple[tuple[str, str], ...] = (
    (
        "CIDEr, 7.1 (Figure 3a), but for the lines above",
        "the pilot's 120 references per image are not among the data",
    ),
    ("CIDEr, 7.4, PASCAL-50S (90 and 82)", "its triplets by reference are not among the data"),
    (
        "Variance, Table 2 (references concatenated)",
        "the twelve systems' captions are not among the data; "
        "`evaluate(..., concatenate=True)` runs the protocol on any other data set",
    ),
    (
        "Variance, BERTScore, LEIC and (but for Table 1) SPICE in Tables 1-4",
        "LEIC is not built in; BERTScore and SPICE are, but not with the model and the tool that "
        "the paper ran",
    ),
    ("Variance, Table 5", "the captions of its captioning models are not among the data"),
    ("CIDEr-R, Table 2", "the captioning models and #PraCegoVer are not among the data"),
    (
        "CIDEr-R, Figure 3, but for the numbers of references above, and its SPICE",
        "it is a curve; `--protocol references --plot FILE` draws ours; SPICE of 40,000 references "
        "takes minutes, `-m spice` computes it",
    ),
    ("Diversity, Figures 2-11", "the captions of its captioning models are not among the data"),
    ("Diversity, Table 2", "the ratings of its sets of captions are not among the data"),
)
"""Numbers that the data do not allow, and why."""
