"""`liked`: where people like another caption than the one most like what people say.

The CIDEr paper's Appendix III tells human-like, the caption that triplets choose, from what humans
like, the caption that is called better.
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


def judge_liked(
    pairs: Pairs, metrics: MetricsByLabel, settings: Settings, scorer: CaptionScorer
) -> dict[str, Verdict]:
    """How often the two questions choose different captions, and which of them metrics choose.

    For people: `disagreement`, the share of pairs with different winners, and `longer`, the share
    of those in which the liked caption has more words (equally many count half). For metrics, of
    those pairs: `human_like`, the share in which a metric prefers the caption that triplets choose.
    """
    alike, liked = get_votes(pairs, "triplets"), get_votes(pairs, "preference")
    decided = (alike != 0) & (liked != 0)
    apart = decided & (np.sign(alike) != np.sign(liked))
    if not apart.any():
        raise SettingError(f"{pairs.name}: the two questions choose the same caption of every pair")
    every = apart.astype(np.float64), decided.astype(np.float64)
    more_words = count_hits(_count_words(pairs, settings), np.where(apart, liked, 0), "half")
    people = find_share("disagreement", pairs, *every, settings)[2]
    people |= find_share("longer", pairs, *more_words, settings)[2]
    counts = {"pairs": int(decided.sum()), "apart": int(apart.sum())}
    verdicts = {HUMAN: Verdict(people | counts)}
    scored = scorer.score(pairs.judged, metrics)
    for label, scores in scored.each.items():
        preferred = scores[pairs.first] - scores[pairs.second]
        hits, trials = count_hits(preferred, np.where(apart, alike, 0), settings.undecided)
        rows, _, statistics = find_share("human_like", pairs, hits, trials, settings)
        statistics |= counts | {"undecided": int(np.count_nonzero((preferred == 0) & apart))}
        verdicts[label] = Verdict(
            statistics, scored.signatures[label], rows, pool_share, "human_like"
        )
    return verdicts


def _count_words(pairs: Pairs, settings: Settings) -> Floats:
    """Return float64[pairs]: words of the first minus words of the second."""
    tokenizer = choose_tokenizer(settings.tokenizer, settings.language)
    cut = tokenizer(list(pairs.judged.captions)).tokens()
    words: NDArray[np.int64] = np.fromiter(map(len, cut), np.int64, len(cut))
    return (words[pairs.first] - words[pairs.second]).astype(np.float64)
