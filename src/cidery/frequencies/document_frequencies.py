"""Document frequencies: in how many images each n-gram occurs; the weights of the CIDEr family."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery._native import FrequencyTrie, NgramIndex
from cidery.corpus import Corpus, References
from cidery.errors import FrequenciesError, SettingError
from cidery.frequencies import files
from cidery.frequencies.levels import Level, add_levels, build_levels, sort_levels
from cidery.storage import write_atomically
from cidery.text import TokenizerLike, choose_tokenizer, stem_form

if TYPE_CHECKING:
    from cidery.files import Readable

SHIPPED = ("coco-val2014", "coco-train2014")
"""Sets that come with the package, each plain and with English stems."""

MAX_ORDER = 8
"""The longest n-grams that can be counted."""
_FOLDER = Path(__file__).parent / "shipped"


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """Number of images of a collection in which each n-gram occurs.

    ```python
    df = DocumentFrequencies.from_references({"a": ["a dog"], "b": ["a cat"]})
    df.count(["a"])        # 2
    df.save("mine.df")
    ```
    """

    words: tuple[str, ...]
    """The vocabulary, in order of UTF-8 bytes."""
    levels: Sequence[Level]
    """Levels of the trie, one per order."""
    image_count: float
    """Usually whole; imported sets may give only its logarithm."""
    tokenizer: str = "unknown"
    """The tokenizer's id; `unknown` for imported sets."""
    stemmer: str | None = None
    min_count: int = 1
    """Minimum number of images of an n-gram; counts of 0 and 1 give the same scores."""
    name: str = "unnamed"
    source: str = ""
    """Origin and license of the captions."""

    @classmethod
    def from_references(
        cls,
        references: References,
        *,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
        stemmer: str | None = None,
        n: int = 4,
        min_count: int = 1,
        name: str = "unnamed",
        source: str = "",
    ) -> DocumentFrequencies:
        """Count n-grams of orders 1 to n over the images' references, each image once.

        Tokenizer and language are those of `score`; stems are counted only where a stemmer is
        named.
        """
        if not 1 <= n <= MAX_ORDER:
            raise SettingError(f"n (-n) must be a whole number from 1 to {MAX_ORDER}, not {n}")
        if min_count < 1:
            raise SettingError(f"min_count (--min-count) must be at least 1, not {min_count}")
        corpus = Corpus.from_references(references)
        chosen = choose_tokenizer(tokenizer, language)
        form = stem_form(stemmer)
        tokenized = chosen(corpus.references).form(form)
        index = NgramIndex(tokenized, corpus.reference_offsets.astype(np.uint64), n)
        levels = [index.level(order) for order in range(1, n + 1)]
        words, sorted_levels = sort_levels(tokenized.vocabulary(), levels, min_count)
        return cls(
            words,
            sorted_levels,
            len(corpus.images),
            tokenizer=chosen.family,
            stemmer=stemmer,
            min_count=min_count,
            name=name,
            source=source,
        )

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[tuple[str, ...], float],
        image_count: float,
        *,
        tokenizer: str = "unknown",
        name: str = "unnamed",
    ) -> DocumentFrequencies:
        """Create document frequencies from counts by n-gram (a tuple of words)."""
        if not counts:
            raise FrequenciesError("there are no n-grams in these document frequencies")
        most = max(counts, key=counts.__getitem__)
        if not max(1.0, counts[most]) <= image_count < math.inf:
            raise FrequenciesError(
                f"{' '.join(most)!r} occurs in {counts[most]:g} images, but there are only "
                f"{image_count:g}"
            )
        words, levels = build_levels(counts)
        return cls(words, levels, image_count, tokenizer=tokenizer, name=name)

    @classmethod
    def from_pickle(
        cls,
        source: Readable,
        *,
        image_count: int | None = None,
        tokenizer: str = "unknown",
        name: str | None = None,
    ) -> DocumentFrequencies:
        """Import the community's pickles, without running any code that they may hold.

        Args:
            source: a path, bytes or a file open in binary mode.
            image_count: the number of images, where the pickle has none or a wrong one.
            tokenizer: what cut the captions into words, if you know.
            name: of the set, and what messages call the pickle; by default the file's name.
        """
        from cidery.files import read_frequency_pickle

        imported = read_frequency_pickle(source, name=name, image_count=image_count)
        images = math.exp(imported.log_image_count)
        whole = round(images)
        exact = whole if math.isclose(images, whole, rel_tol=1e-9) else images
        if name is None:
            name = Path(source).name if isinstance(source, str | os.PathLike) else "unnamed"
        return cls.from_counts(imported.counts, exact, tokenizer=tokenizer, name=name)

    @property
    def order(self) -> int:
        """The longest n-grams' length."""
        return len(self.levels)

    @property
    def log_image_count(self) -> float:
        """The log |I| of equation (1)."""
        return math.log(self.image_count)

    def __len__(self) -> int:
        return sum(int(np.count_nonzero(level.counts)) for level in self.levels)

    def __getstate__(self) -> dict[str, Any]:
        # The native form cannot travel to another process; it is made again there.
        return {k: v for k, v in vars(self).items() if k not in ("trie", "_payload")}

    def __repr__(self) -> str:
        return (
            f"<DocumentFrequencies {self.name}: {self.image_count:g} images, {len(self)} n-grams "
            f"up to {self.order}, tokenizer {self.tokenizer}, stemmer {self.stemmer or 'none'}>"
        )

    def count(self, ngram: Sequence[str]) -> int:
        """Return the number of images with the n-gram; 0 if unseen or dropped."""
        return self.trie.count(list(ngram))

    def __or__(self, other: DocumentFrequencies) -> DocumentFrequencies:
        """Add the counts of two collections of different images."""
        if not isinstance(other, DocumentFrequencies):
            return NotImplemented
        for frequencies in (self, other):
            if frequencies.min_count > 1:
                raise FrequenciesError(
                    f"{frequencies.name} leaves out n-grams that occur in fewer than "
                    f"{frequencies.min_count} images, so its sum with another set would be wrong; "
                    "count it again from its captions with min_count=1 (--min-count 1)"
                )
        for what in ("order", "tokenizer", "stemmer"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise FrequenciesError(
                    f"{self.name} and {other.name} differ in {what}: {mine} and {theirs}"
                )
        words, levels = add_levels((self.words, other.words), (self.levels, other.levels))
        return replace(
            self,
            words=words,
            levels=levels,
            image_count=self.image_count + other.image_count,
            name=f"{self.name}+{other.name}",
            source="; ".join(dict.fromkeys(filter(None, (self.source, other.source)))),
        )

    @cached_property
    def _payload(self) -> files.Payload:
        """Content of the file."""
        settings = {
            "image_count": self.image_count,
            "min_count": self.min_count,
            "name": self.name,
            "source": self.source,
            "stemmer": self.stemmer,
            "tokenizer": self.tokenizer,
        }
        return files.pack(self.words, self.levels, settings)

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits of a hash of the content, without the name."""
        return self._payload.fingerprint()

    @cached_property
    def trie(self) -> FrequencyTrie:
        """The native form, for lookups."""
        return self._payload.make_trie(self.words)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to one file; an existing file is replaced only when all is written."""
        write_atomically(path, files.encode(self._payload, self.fingerprint))

    @classmethod
    def load(cls, source: Readable, *, name: str | None = None) -> DocumentFrequencies:
        """Load a saved set; a damaged or unknown file is an error.

        Args:
            source: a path, whose file is mapped into memory, bytes or a file open in binary mode.
            name: what messages call the source; by default the path or the open file's name.
        """
        payload = files.decode(source, name)
        header = payload.header
        words = payload.words
        loaded = cls(
            words,
            files.PackedLevels(payload),
            header["image_count"],
            tokenizer=header["tokenizer"],
            stemmer=header["stemmer"],
            min_count=header["min_count"],
            name=header["name"],
            source=header["source"],
        )
        # What these cached properties would compute, the file has.
        vars(loaded).update(trie=payload.make_trie(words), fingerprint=header["fingerprint"])
        return loaded


def list_shipped_files(name: str) -> list[Path]:
    """Return the files of a shipped set: plain, then with English stems."""
    return [_FOLDER / f"{name}.df", _FOLDER / f"{name}.english.df"]


@lru_cache(maxsize=8)
def load_shipped(name: str, stemmer: str | None = None) -> DocumentFrequencies:
    """Load one of the sets that come with the package, plain or stemmed."""
    if name not in SHIPPED:
        raise SettingError(f"no frequencies named {name!r}; shipped: {', '.join(SHIPPED)}")
    path = _FOLDER / f"{name}.{stemmer}.df" if stemmer else _FOLDER / f"{name}.df"
    if not path.exists():
        raise FrequenciesError(
            f"{name} is shipped plain and with English stems, not with {stemmer!r} stems; count "
            "your own with DocumentFrequencies.from_references(..., stemmer=...) "
            "(cidery frequencies build --stemmer)"
        )
    return DocumentFrequencies.load(path)
