"""describe(): statistics of references, and advice on metrics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus.corpus import FEW_IMAGES, Corpus, References
from cidery.runtime import check_threads
from cidery.tables import Table, Tabular
from cidery.text import SPLIT, ScriptCount, TokenizerLike, choose_tokenizer, find_script_problems

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Standard deviations of caption lengths, in words: Santos, Colombini, Avila 2021, Table 1.
COCO_DEVIATION = 2.2
FLICKR30K_DEVIATION = 5.2
PRACEGOVER_DEVIATION = 26.8

WIDE_DEVIATION = FLICKR30K_DEVIATION
"""Standard deviation of lengths from which they vary widely."""

MIN_LENGTH_GAP = 15
"""Words. Where a caption is so much longer or shorter than the only reference, CIDEr-R agrees with
people more often than CIDEr-D: PASCAL-50S, 73.8 % to 71.9 %, difference 1.9 [0.3, 3.7]; below 10
words CIDEr-D is ahead by 0.1 to 0.5 (`benchmarks/run.py length_gaps`)."""
VERY_WIDE_DEVIATION = MIN_LENGTH_GAP / math.sqrt(2)
"""Standard deviation at which two captions usually differ by `MIN_LENGTH_GAP` words."""

_MOST_BINS = 16
_BIN_WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Bin:
    """Number of captions with `low` to `high` words, inclusive."""

    low: int
    high: int
    captions: int


@dataclass(frozen=True)
class Spread:
    """Minimum, mean, maximum and standard deviation."""

    least: int
    mean: float
    most: int
    deviation: float


@dataclass(frozen=True)
class Description(Tabular):
    """Statistics of references.

    ```python
    description = cidery.describe({"a": ["a dog", "the dog"], "b": ["a cat"]})
    description.references.mean   # 1.5
    print(description)
    ```
    """

    images: int
    captions: int
    references: Spread
    """References per image."""
    length: Spread
    """Words per caption."""
    lengths: tuple[tuple[int, int], ...] = field(repr=False)
    """Number of captions by number of words: (words, captions), sorted."""
    histogram: tuple[Bin, ...]
    """Captions by length, in adjacent bins."""
    vocabulary: int
    """Number of distinct words."""
    seen_once: int
    """Number of words that occur once in all captions."""
    repeated: int
    """Number of captions with the same words as an earlier caption of the image."""
    repeated_anywhere: int
    """Number of captions with the same words as an earlier caption of any image."""
    empty: int
    """Number of captions without words."""
    tokenizer: str
    scripts: tuple[ScriptCount, ...]
    """Captions by the script of most of their letters, the most frequent first."""
    language: str | None
    """Code of the language, if the script or py3langid determines it."""
    problems: tuple[str, ...]
    """Problems in the writing of captions, a sentence each."""

    @property
    def advice(self) -> tuple[str, ...]:
        """Advice on scoring against these references, a sentence each."""
        found = [self._advise_metric()]
        found.extend(self.problems)
        if self.images < FEW_IMAGES:
            found.append(
                f"fewer than {FEW_IMAGES} images are too few to count CIDEr's weights on: pass "
                f"--frequencies {'coco-val2014' if self.is_english else 'with a set of your own'}"
            )
        if self.repeated:
            found.append(
                f"{self.repeated} {_captions(self.repeated)} of the same image word for word: "
                "copies count as consensus"
            )
        if self.empty:
            verb = "has" if self.empty == 1 else "have"
            found.append(f"{self.empty} of {self.captions} captions {verb} no words: correct them")
        return tuple(found)

    @property
    def is_english(self) -> bool:
        """True if captions may be English, judging by script and py3langid."""
        scripts = [share.script for share in self.scripts[:1]]
        return self.tokenizer.startswith("ptb") and (
            self.language == "en" or (self.language is None and scripts in ([], ["Latin"]))
        )

    def _advise_metric(self) -> str:
        """After Santos, Colombini, Avila 2021: CIDEr-R where lengths vary widely.

        They advise it for a single reference too. PASCAL-50S, whose captions are short, does not
        bear this out: with one reference, CIDEr-D agrees with people on 73.0 % of all pairs and
        CIDEr-R on 72.6 % (`cidery meta pascal-50s … -m cider-d -m cider-r --references 1`). It is
        CIDEr-R where lengths differ by `MIN_LENGTH_GAP` words.
        """
        deviation = f"sd {self.length.deviation:.1f}; COCO {COCO_DEVIATION}, "
        deviation += f"Flickr30k {FLICKR30K_DEVIATION}, #PraCegoVer {PRACEGOVER_DEVIATION}"
        wide = self.length.deviation >= WIDE_DEVIATION
        single = self.references.mean < 2
        few = "are fewer than two references" if self.references.most > 1 else "is one reference"
        if single and self.length.deviation >= VERY_WIDE_DEVIATION:
            return (
                f"lengths vary widely ({deviation}) and there {few} per image: "
                f"prefer cider-r, which agrees with people more often where lengths differ by "
                f"{MIN_LENGTH_GAP} words or more"
            )
        if single and not wide:
            return (
                f"there {few} per image, and lengths vary little ({deviation}): cider-d and "
                "cider-r fit alike, report either"
            )
        if wide:
            return f"lengths vary widely ({deviation}): report cider-r beside cider-d"
        return f"lengths vary little ({deviation}) and there are several references: cider-d fits"

    def summarize(self) -> dict[str, str]:
        """Return properties of the references as text."""
        per_image, length = self.references, self.length
        return {
            "images": f"{self.images:,}",
            "references": f"{self.captions:,}, per image {per_image.mean:.2f} "
            f"({per_image.least} to {per_image.most})",
            "words per caption": f"{length.mean:.1f}, sd {length.deviation:.1f} "
            f"({length.least} to {length.most})",
            "vocabulary": f"{self.vocabulary:,} words, {self.seen_once:,} of them seen once",
            "repeated captions": f"{self.repeated:,} within an image, "
            f"{self.repeated_anywhere:,} over all images",
            "empty captions": f"{self.empty:,}",
            "script": ", ".join(f"{s.script} {s.captions:,}" for s in self.scripts) or "none",
            **({"language": self.language} if self.language else {}),
            "tokenizer": self.tokenizer,
        }

    def table(self) -> Table:
        """Return the summary as a table, with the advice as notes."""
        return Table.of(["property", "value"], self.summarize().items(), notes=self.advice)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, advice included, ready for JSON."""
        content = asdict(self) | {"advice": list(self.advice)}
        del content["lengths"]  # the histogram has them in short
        return content


def _captions(count: int) -> str:
    return "caption repeats another one" if count == 1 else "captions repeat other ones"


def describe(
    references: References,
    tokenizer: TokenizerLike | None = None,
    *,
    language: str | None = None,
    threads: int = 0,
    references_name: str = "references",
) -> Description:
    """Return statistics of references and advice on metrics.

    Args:
        references: id -> captions, or a list of lists.
        tokenizer: as for `score`. Default: that of the language, or `"ptb"`.
        language: a code such as `"zh"`.
        threads: maximum number of threads; 0 means one per core.
        references_name: name of the references in messages.

    ```python
    cidery.describe({"a": ["a dog runs", "a dog"]}).advice
    ```
    """
    corpus = Corpus.from_references(references, references_name=references_name)
    chosen = choose_tokenizer(tokenizer, language)
    tokenized = chosen(corpus.references, check_threads(threads)).form(SPLIT)
    words, ends = tokenized.words(), tokenized.offsets()
    bounds = ends.astype(np.int64)
    lengths = bounds[1:] - bounds[:-1]
    per_image = np.diff(corpus.reference_offsets)
    occurrences = np.bincount(words)
    texts = [words[start:end].tobytes() for start, end in pairwise(bounds.tolist())]
    owners = np.repeat(np.arange(len(per_image)), per_image).tolist()
    return Description(
        images=len(corpus.images),
        captions=len(corpus.references),
        references=_spread(per_image),
        length=_spread(lengths),
        lengths=tuple(Counter(sorted(lengths.tolist())).items()),
        histogram=_histogram(lengths),
        vocabulary=int(np.count_nonzero(occurrences)),
        seen_once=int(np.count_nonzero(occurrences == 1)),
        repeated=_count_repeated(list(zip(owners, texts, strict=True))),
        repeated_anywhere=_count_repeated(texts),
        empty=int(np.count_nonzero(lengths == 0)),
        tokenizer=chosen.id,
        scripts=corpus.references.script_counts,
        language=corpus.references.language,
        problems=tuple(find_script_problems({references_name: corpus.references}, chosen)),
    )


def _spread(numbers: NDArray[np.int64]) -> Spread:
    """Return statistics of numbers; the deviation divides by their count, as in Table 1."""
    return Spread(
        int(numbers.min()), float(numbers.mean()), int(numbers.max()), float(numbers.std())
    )


def _count_repeated(items: list[Any]) -> int:
    return len(items) - len(Counter(items))


def share_bins(descriptions: Sequence[Description]) -> list[tuple[Bin, ...]]:
    """Return a histogram of lengths for each description, all with the same bins.

    ```python
    share_bins([cidery.describe({"a": ["a dog"]}), cidery.describe({"a": ["a big dog"]})])
    ```
    """
    counts = [np.array(found.lengths, np.int64).reshape(-1, 2) for found in descriptions]
    lengths = [np.repeat(rows[:, 0], rows[:, 1]) for rows in counts]
    # Files count alike, however large they are: else a small one would not show in the bins.
    longest = max(int(np.quantile(found, 0.99, method="higher")) for found in lengths)
    first = min(int(found.min()) for found in lengths)
    last = max(int(found.max()) for found in lengths)
    return [_bin(found, first, longest, last) for found in lengths]


def _histogram(lengths: NDArray[np.int64]) -> tuple[Bin, ...]:
    """Count lengths in equal bins; the last bin contains all longer captions."""
    longest = int(np.quantile(lengths, 0.99, method="higher"))
    return _bin(lengths, int(lengths.min()), longest, int(lengths.max()))


def _bin(lengths: NDArray[np.int64], first: int, longest: int, last: int) -> tuple[Bin, ...]:
    width = next((w for w in _BIN_WIDTHS if (longest - first) // w < _MOST_BINS), _BIN_WIDTHS[-1])
    start = first - first % width
    count = min((longest - start) // width, _MOST_BINS) + 1
    places = np.minimum((lengths - start) // width, count - 1)
    sizes = np.bincount(places, minlength=count).tolist()
    lows = [start + width * place for place in range(count)]
    highs = [*(low - 1 for low in lows[1:]), max(last, lows[-1] + width - 1)]
    return tuple(Bin(*row) for row in zip(lows, highs, sizes, strict=True))
