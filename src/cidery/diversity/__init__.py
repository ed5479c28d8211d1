"""Diversity of sets of captions, and its tradeoff with accuracy.

The evaluation of Wang and Chan, "Describing like humans: on diversity in image captioning", CVPR
2019, and the consensus ranking of Vedantam, Zitnick, Parikh, CVPR 2015, Appendix II.
"""

from cidery.diversity.accuracy import f_measure, match_references
from cidery.diversity.base import Measure
from cidery.diversity.by_count import COUNTS, diversity_by_count
from cidery.diversity.caption_sets import group_rows
from cidery.diversity.comparison import DiversityComparison, DiversityDetails, compare_diversity
from cidery.diversity.distinct import Distinct, Novel, Unique, Vocabulary
from cidery.diversity.kernels import EncoderKernel, FunctionKernel
from cidery.diversity.latent import CaptionMap, LatentSemantics, latent_semantics, map_captions
from cidery.diversity.mbleu import MBleu
from cidery.diversity.measurement import measure_diversity
from cidery.diversity.measures import MEASURES, get_measures
from cidery.diversity.reference_ranking import RankedCaption, RankedReferences, rank_references
from cidery.diversity.reference_scores import score_references
from cidery.diversity.self_cider import Lsa, SelfCider
from cidery.diversity.word_frequencies import WordFrequencies, count_words

__all__ = [
    "COUNTS",
    "MEASURES",
    "CaptionMap",
    "Distinct",
    "DiversityComparison",
    "DiversityDetails",
    "EncoderKernel",
    "FunctionKernel",
    "LatentSemantics",
    "Lsa",
    "MBleu",
    "Measure",
    "Novel",
    "RankedCaption",
    "RankedReferences",
    "SelfCider",
    "Unique",
    "Vocabulary",
    "WordFrequencies",
    "compare_diversity",
    "count_words",
    "diversity_by_count",
    "f_measure",
    "get_measures",
    "group_rows",
    "latent_semantics",
    "map_captions",
    "match_references",
    "measure_diversity",
    "rank_references",
    "score_references",
]
