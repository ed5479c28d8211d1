"""Document frequencies: in how many images each n-gram occurs; the weights of the CIDEr family.

A set is a trie in flat arrays (see `native/frequencies.hpp`), one file that is mapped into memory
as it lies. The file begins with 48 bytes (magic, version, length of the header, SHA-256 of that
length and all that follows), then a JSON header, then the arrays.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cidery._native import FrequencyTrie, NgramIndex
from cidery.captions.corpus import Corpus, References
from cidery.captions.tokenizers import TokenizerLike, get_tokenizer, stem_form
from cidery.errors import FrequenciesError, SettingError

if TYPE_CHECKING:
    import hashlib

    from numpy.typing import NDArray
    from typing_extensions import Buffer

SHIPPED = ("coco-val2014", "coco-train2014")
"""Sets that come with the package, each plain and with English stems."""

MAX_ORDER = 8
_MAGIC = b"CIDERYDF"
_VERSION = 1
_PREFIX = struct.Struct("<8sII32s")
_LARGE = 255
_FOLDER = Path(__file__).parent / "shipped"


@dataclass(frozen=True)
class _Level:
    """The n-grams of one order, sorted by (parent, word)."""

    parents: NDArray[np.uint32]
    """Index into the level before; empty for order 1."""
    words: NDArray[np.uint32]
    counts: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """How many images of a collection each n-gram occurs in.

    ```python
    df = DocumentFrequencies.from_references({"a": ["a dog"], "b": ["a cat"]})
    df.count(["a"])        # 2
    df.save("mine.df")
    ```
    """

    words: tuple[str, ...]
    """The vocabulary, in order of UTF-8 bytes."""
    levels: tuple[_Level, ...]
    image_count: float
    """Usually whole; imported sets may give only its logarithm."""
    tokenizer: str = "unknown"
    """The tokenizer's id; `unknown` for imported sets."""
    stemmer: str | None = None
    min_count: int = 1
    """Rarer n-grams were left out: in scores one image counts the same as none."""
    name: str = "unnamed"
    source: str = ""
    """Where the captions come from, and their licence."""

    @classmethod
    def from_references(
        cls,
        references: References,
        *,
        tokenizer: TokenizerLike = "ptb",
        stemmer: str | None = None,
        n: int = 4,
        min_count: int = 1,
        name: str = "unnamed",
        source: str = "",
    ) -> DocumentFrequencies:
        """Count n-grams of orders 1 to n over the images' references, each image once."""
        if not 1 <= n <= MAX_ORDER:
            raise SettingError(f"n must be a whole number from 1 to {MAX_ORDER}, not {n}")
        if min_count < 1:
            raise SettingError(f"min_count must be at least 1, not {min_count}")
        corpus = Corpus.from_references(references)
        chosen = get_tokenizer(tokenizer)
        form = stem_form(stemmer) if stemmer else "split"
        tokenized = chosen(corpus.references).form(form)
        index = NgramIndex(tokenized, corpus.reference_offsets.astype(np.uint64), n)
        built = cls._build(
            tokenized.vocabulary(),
            [index.level(order) for order in range(1, n + 1)],
            len(corpus.images),
            min_count,
        )
        return replace(built, tokenizer=chosen.family, stemmer=stemmer, name=name, source=source)

    @classmethod
    def _build(
        cls,
        words: Sequence[str],
        levels: Sequence[tuple[NDArray[Any], ...]],
        image_count: float,
        min_count: int = 1,
    ) -> DocumentFrequencies:
        """Sort levels of (id, parent id, word id, count), with ids of any order, into a trie."""
        order = sorted(range(len(words)), key=lambda i: words[i].encode())
        built: list[_Level] = []
        word_rank = np.zeros(len(words), np.uint32)
        parent_rank = word_rank
        for n, (ids, parents, last, counts) in enumerate(levels, start=1):
            kept = np.flatnonzero(counts >= min_count) if min_count > 1 else np.arange(len(ids))
            if n == 1:
                by_id = np.full(len(words), -1, np.int64)
                by_id[ids[kept]] = kept
                ranked = np.asarray([by_id[i] for i in order if by_id[i] >= 0], np.int64)
                word_rank[ids[ranked]] = np.arange(len(ranked), dtype=np.uint32)
                sorted_words = tuple(words[int(ids[i])] for i in ranked)
                rank = word_rank
                level = _Level(np.empty(0, np.uint32), rank[ids[ranked]], counts[ranked])
            else:
                keys = parent_rank[parents[kept]].astype(np.uint64) << np.uint64(32)
                keys |= word_rank[last[kept]].astype(np.uint64)
                permutation = np.argsort(keys)
                ranked = kept[permutation]
                keys = keys[permutation]
                rank = np.zeros(int(ids.max(initial=0)) + 1, np.uint32)
                rank[ids[ranked]] = np.arange(len(ranked), dtype=np.uint32)
                level = _Level(
                    (keys >> np.uint64(32)).astype(np.uint32),
                    (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32),
                    counts[ranked],
                )
            built.append(level)
            parent_rank = rank
        return cls(sorted_words, tuple(built), image_count, min_count=min_count)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[tuple[str, ...], float],
        image_count: float,
        *,
        tokenizer: str = "unknown",
        name: str = "unnamed",
    ) -> DocumentFrequencies:
        """Take counts as they are, n-gram (a tuple of words) by n-gram."""
        if not counts:
            raise FrequenciesError("there are no n-grams in these document frequencies")
        most = max(counts, key=counts.__getitem__)
        if not max(1.0, counts[most]) <= image_count < math.inf:
            raise FrequenciesError(
                f"{' '.join(most)!r} occurs in {counts[most]:g} images, but there are only "
                f"{image_count:g}"
            )
        order = max(map(len, counts))
        closed: list[dict[tuple[str, ...], int]] = [{} for _ in range(order)]
        for ngram, count in counts.items():
            closed[len(ngram) - 1][ngram] = round(count)
        for n in range(order - 1, 0, -1):  # a trie needs every prefix and every word
            for ngram in closed[n]:
                closed[n - 1].setdefault(ngram[:-1], 0)
                closed[0].setdefault(ngram[-1:], 0)
        word_ids = {ngram[0]: i for i, ngram in enumerate(closed[0])}
        levels = []
        previous: dict[tuple[str, ...], int] = {}
        for level in closed:
            ids = {ngram: i for i, ngram in enumerate(level)}
            levels.append(
                (
                    np.arange(len(level), dtype=np.uint32),
                    np.asarray([previous.get(ngram[:-1], 0) for ngram in level], np.uint32),
                    np.asarray([word_ids[ngram[-1]] for ngram in level], np.uint32),
                    np.asarray(list(level.values()), np.uint32),
                )
            )
            previous = ids
        built = cls._build(list(word_ids), levels, image_count)
        return replace(built, tokenizer=tokenizer, name=name)

    @classmethod
    def from_pickle(
        cls,
        path: str | os.PathLike[str],
        *,
        image_count: int | None = None,
        tokenizer: str = "unknown",
    ) -> DocumentFrequencies:
        """Import the community's pickles, without running any code that they may hold."""
        from cidery.captions.formats import read_frequency_pickle

        imported = read_frequency_pickle(path, image_count=image_count)
        images = math.exp(imported.log_image_count)
        whole = round(images)
        exact = whole if math.isclose(images, whole, rel_tol=1e-9) else images
        return cls.from_counts(imported.counts, exact, tokenizer=tokenizer, name=Path(path).name)

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
        """Return in how many images the n-gram occurs; 0 where unseen or left out."""
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
                    "count it again from its captions with min_count=1"
                )
        for what in ("order", "tokenizer", "stemmer"):
            mine, theirs = getattr(self, what), getattr(other, what)
            if mine != theirs:
                raise FrequenciesError(
                    f"{self.name} and {other.name} differ in {what}: {mine} and {theirs}"
                )
        words = sorted({*self.words, *other.words}, key=str.encode)
        rank = {word: i for i, word in enumerate(words)}
        sides = (self, other)
        remap = [np.asarray([rank[w] for w in side.words], np.uint32) for side in sides]
        parents = [np.zeros(0, np.uint32)] * 2
        levels: list[_Level] = []
        for n in range(self.order):
            keys = []
            for i, side in enumerate(sides):
                last = remap[i][side.levels[n].words].astype(np.uint64)
                above = parents[i][side.levels[n].parents] if n else np.zeros_like(last)
                keys.append(above.astype(np.uint64) << np.uint64(32) | last)
            merged, inverse = np.unique(np.concatenate(keys), return_inverse=True)
            counts = np.zeros(len(merged), np.uint32)
            np.add.at(counts, inverse, np.concatenate([s.levels[n].counts for s in sides]))
            above = (merged >> np.uint64(32)).astype(np.uint32) if n else np.empty(0, np.uint32)
            last_words = (merged & np.uint64(0xFFFFFFFF)).astype(np.uint32)
            levels.append(_Level(above, last_words, counts))
            split = len(keys[0])
            parents = [inverse[:split].astype(np.uint32), inverse[split:].astype(np.uint32)]
        return replace(
            self,
            words=tuple(words),
            levels=tuple(levels),
            image_count=self.image_count + other.image_count,
            name=f"{self.name}+{other.name}",
            source="; ".join(dict.fromkeys(filter(None, (self.source, other.source)))),
        )

    @cached_property
    def _payload(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The header and the arrays of the file."""
        encoded = [word.encode() for word in self.words]
        width = 2 if len(self.words) <= 0xFFFF else 4
        arrays: dict[str, NDArray[Any]] = {
            "words": np.frombuffer(b"".join(encoded), np.uint8),
            "word_ends": np.cumsum([len(word) for word in encoded], dtype=np.uint32),
        }
        for n, level in enumerate(self.levels, start=1):
            large = np.flatnonzero(level.counts >= _LARGE).astype(np.uint32)
            arrays[f"{n}.counts"] = np.minimum(level.counts, _LARGE).astype(np.uint8)
            arrays[f"{n}.large_entries"] = large
            arrays[f"{n}.large_counts"] = level.counts[large].astype(np.uint32)
            if n > 1:
                arrays[f"{n}.words"] = level.words.astype("<u2" if width == 2 else "<u4")
            if n < self.order:
                below = self.levels[n].parents
                children = np.searchsorted(below, np.arange(len(level.counts) + 1))
                arrays[f"{n}.first_child"] = children.astype(np.uint32)
        header = {
            "image_count": self.image_count,
            "min_count": self.min_count,
            "name": self.name,
            "order": self.order,
            "source": self.source,
            "stemmer": self.stemmer,
            "tokenizer": self.tokenizer,
            "word_width": width,
        }
        return header, arrays

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that tell two sets apart by what they count, not by name."""
        header, arrays = self._payload
        digest = _sha256()
        counted = {k: v for k, v in header.items() if k not in ("name", "source")}
        digest.update(json.dumps(counted, sort_keys=True).encode())
        for key in sorted(arrays):
            digest.update(key.encode())
            digest.update(np.ascontiguousarray(arrays[key]).tobytes())
        return digest.hexdigest()[:12]

    @cached_property
    def trie(self) -> FrequencyTrie:
        """The native form, for lookups."""
        header, arrays = self._payload
        return _make_trie(list(self.words), header["word_width"], arrays, self.order)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to one file; an existing file is replaced only when all is written."""
        header, arrays = self._payload
        header = header | {"fingerprint": self.fingerprint, "sections": {}}
        body = bytearray()
        for key, array in arrays.items():
            body.extend(b"\0" * (-len(body) % 8))
            header["sections"][key] = [len(body), array.nbytes]
            body.extend(array.tobytes())
        encoded = json.dumps(header, sort_keys=True, ensure_ascii=False).encode()
        encoded += b" " * (-len(encoded) % 8)
        checksum = _checksum(len(encoded), encoded + body)
        prefix = _PREFIX.pack(_MAGIC, _VERSION, len(encoded), checksum)
        import tempfile

        target = Path(path)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(prefix + encoded + body)
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink()
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DocumentFrequencies:
        """Map a saved set into memory; a damaged or foreign file is refused."""
        import mmap

        with Path(path).open("rb") as file:
            start = file.read(_PREFIX.size)
            if len(start) < _PREFIX.size or start[:8] != _MAGIC:
                hint = "; to import a pickle, use DocumentFrequencies.from_pickle"
                raise FrequenciesError(f"{path} is no document-frequency file of cidery{hint}")
            data = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        _, version, header_length, checksum = _PREFIX.unpack(start)
        if version != _VERSION:
            raise FrequenciesError(
                f"{path} has format version {version}; this cidery reads {_VERSION}: "
                "build the file again, or update cidery"
            )
        if _checksum(header_length, data[_PREFIX.size :].data) != checksum:
            raise FrequenciesError(f"{path} is damaged (its checksum is wrong); build it again")
        header = json.loads(data[_PREFIX.size : _PREFIX.size + header_length].tobytes())
        body = data[_PREFIX.size + header_length :]
        return cls._from_file(header, body)

    @classmethod
    def _from_file(cls, header: dict[str, Any], body: NDArray[np.uint8]) -> DocumentFrequencies:
        types = {"words": "u1", "counts": "u1"}
        arrays: dict[str, NDArray[Any]] = {}
        for key, (offset, length) in header["sections"].items():
            kind = types.get(key.split(".")[-1], "<u4")
            arrays[key] = body[offset : offset + length].view(kind)
        blob = arrays["words"].tobytes()
        ends = [0, *arrays["word_ends"].tolist()]
        words = tuple(blob[a:b].decode() for a, b in pairwise(ends))
        loaded = cls(
            words,
            cast("tuple[_Level, ...]", _LazyLevels(arrays, header)),
            header["image_count"],
            tokenizer=header["tokenizer"],
            stemmer=header["stemmer"],
            min_count=header["min_count"],
            name=header["name"],
            source=header["source"],
        )
        trie = _make_trie(list(words), header["word_width"], arrays, header["order"])
        vars(loaded).update(trie=trie, fingerprint=header["fingerprint"])
        return loaded


class _LazyLevels(Sequence[_Level]):
    """Levels of a mapped file, unpacked only where someone merges or saves."""

    def __init__(self, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
        self._arrays = arrays
        self._order: int = header["order"]
        self._word_type = f"<u{header['word_width']}"

    def __len__(self) -> int:
        return self._order

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if not 0 <= index < self._order:
            raise IndexError(index)
        n = index + 1
        counts = self._arrays[f"{n}.counts"].astype(np.uint32)
        counts[self._arrays[f"{n}.large_entries"]] = self._arrays[f"{n}.large_counts"]
        if n == 1:
            words = np.arange(len(counts), dtype=np.uint32)
            return _Level(np.empty(0, np.uint32), words, counts)
        children = np.diff(self._arrays[f"{n - 1}.first_child"])
        parents = np.repeat(np.arange(len(children), dtype=np.uint32), children)
        words = self._arrays[f"{n}.words"].view(self._word_type).astype(np.uint32)
        return _Level(parents, words, counts)


def _make_trie(
    words: list[str], width: int, arrays: Mapping[str, NDArray[Any]], order: int
) -> FrequencyTrie:
    none8, none32 = np.empty(0, np.uint8), np.empty(0, np.uint32)
    levels = [
        (
            arrays.get(f"{n}.words", none8).view(np.uint8),
            arrays[f"{n}.counts"],
            arrays.get(f"{n}.first_child", none32),
            arrays[f"{n}.large_entries"],
            arrays[f"{n}.large_counts"],
        )
        for n in range(1, order + 1)
    ]
    try:
        return FrequencyTrie(words, width, levels)
    except ValueError as error:
        raise FrequenciesError(str(error)) from None


def _sha256() -> hashlib._Hash:
    import hashlib  # loads OpenSSL, which scoring does without

    return hashlib.sha256()


def _checksum(header_length: int, content: Buffer) -> bytes:
    digest = _sha256()
    digest.update(header_length.to_bytes(4, "little"))
    digest.update(content)
    return digest.digest()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


@lru_cache(maxsize=8)
def load_shipped(name: str, stemmer: str | None = None) -> DocumentFrequencies:
    """Load one of the sets that come with the package, plain or stemmed."""
    if name not in SHIPPED:
        raise SettingError(f"no frequencies named {name!r}; shipped: {', '.join(SHIPPED)}")
    path = _FOLDER / f"{name}.{stemmer}.df" if stemmer else _FOLDER / f"{name}.df"
    if not path.exists():
        raise FrequenciesError(
            f"{name} is shipped plain and with English stems, not with {stemmer!r} stems; count "
            "your own with DocumentFrequencies.from_references(..., stemmer=...)"
        )
    return DocumentFrequencies.load(path)
