"""Protocol `disagreement`: pairs in which triplets and preferences choose different captions.

The CIDEr paper's Appendix III distinguishes human-like captions, chosen by triplets, from captions
that people prefer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cidery.errors import SettingError
from cidery.meta.judgments import Pairs
from cidery.meta.protocols.base import (
    HUMAN,
    MetricsByLabel,
    Verdict,
    count_hits,
    find_share,
    get_votes,
)
from cidery.meta.scoring import CaptionScorer
from cidery.meta.settings import Settings
from cidery.statistics import Floats, pool_share
from cidery.text import choose_tokenizer


def judge_disagreement(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """Return how often the two questions disagree, and which caption metrics choose then.

    For people: `disagreement`, the share of pairs with different winners, and `longer`, the share
    of those in which the preferred caption has more words (a tie counts half). For metrics, of
    those pairs: `human_like`, the share in which a metric chooses as triplets do.
    """
    likeness, preference = get_votes(pairs, "triplets"), get_votes(pairs, "preference")
    decided = (likeness != 0) & (preference != 0)
    apart = decided & (np.sign(likeness) != np.sign(preference))
    if not apart.any():
        raise SettingError(f"{pairs.name}: triplets and preferences agree on all pairs")
    every = apart.astype(np.float64), decided.astype(np.float64)
    more_words = count_hits(_count_words(pairs, settings), np.where(apart, preference, 0), "half")
    people = find_share("disagreement", pairs, *every, settings)[2]
    people |= find_share("longer", pairs, *more_words, settings)[2]
    counts = {"pairs": int(decided.sum()), "apart": int(apart.sum())}
    verdicts = {HUMAN: Verdict(people | counts)}
    scored = scorer.score(pairs.judged, metrics)
    for label, scores in scored.each.items():
        preferred = scores[pairs.first] - scores[pairs.second]
        hits, trials = count_hits(preferred, np.where(apart, likeness, 0), settings.undecided)
        rows, _, statistics = find_share("human_like", pairs, hits, trials, settings)
        statistics |= counts | {"undecided": int(np.count_nonzero((preferred == 0) & apart))}
        verdicts[label] = Verdict(
            statistics, scored.signatures[label], rows, pool_share, "human_like"
        )
    return verdicts


def _count_words(pairs: Pairs, settings: Settings) -> Floats:
    """Return float64[pairs]: words of the first minus words of the second."""
    tokenizer = choose_tokenizer(settings.tokenizer, settings.language)
    tokens = tokenizer(list(pairs.judged.captions)).tokens()
    words: NDArray[np.int64] = np.fromiter(map(len, tokens), np.int64, len(tokens))
    return (words[pairs.first] - words[pairs.second]).astype(np.float64)
