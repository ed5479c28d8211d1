"""Document frequencies counted in parts: each part separately, then merged shard by shard.

A part counts its own images and writes its n-grams into shards by a hash of their words. A shard is
merged from all parts without the others, so that no process holds the whole table. The result is
the file that `DocumentFrequencies.from_references` would have made of all images.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery._native import Captions, NgramIndex, add_up_shard, hash_words
from cidery.errors import FrequenciesError
from cidery.frequencies.document_frequencies import DocumentFrequencies
from cidery.frequencies.levels import Level

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CountedFrequencies:
    """Document frequencies counted on all references of a stream, by stemmer.

    Metrics take them where they would count `"references"`, with the same scores and signatures.
    """

    sets: Mapping[str | None, DocumentFrequencies]
    image_count: int

    def find(self, stemmer: str | None) -> DocumentFrequencies:
        """Return the document frequencies for a metric with these stems."""
        if stemmer not in self.sets:
            raise FrequenciesError(f"no document frequencies were counted with stemmer={stemmer!r}")
        return self.sets[stemmer]


def write_part(
    folder: Path, captions: Captions, offsets: NDArray[np.uint64], order: int, shards: int
) -> None:
    """Count one part's images and write its n-grams by shard; the folder appears when complete.

    `ngrams` has the shards one after another: of each order the counts of n-grams of several
    images, then of each order rows of words, as numbers of `words.json`; in a shard those of a
    single image come first. `starts.npy` says where, by order, and `places.npy` at which byte.
    """
    index = NgramIndex(captions, offsets, order, 1)
    vocabulary = captions.vocabulary()
    hashes = hash_words(vocabulary)
    temporary = folder.with_name(f".{folder.name}.{os.urandom(4).hex()}")
    temporary.mkdir(parents=True)
    try:
        ids, _, _, counts = index.level(1)
        frequency = np.zeros(len(vocabulary), np.uint32)
        frequency[ids] = counts
        content = json.dumps(vocabulary, ensure_ascii=False)
        (temporary / "words.json").write_text(content, encoding="utf-8")
        np.save(temporary / "1.counts.npy", frequency)
        _write_shards(temporary, index.shard(hashes, shards), _choose_width(len(vocabulary)))
        if folder.exists():  # of an attempt that was given up
            shutil.rmtree(folder)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _choose_width(words: int) -> type[np.uint16 | np.uint32]:
    return np.uint16 if words <= 0xFFFF else np.uint32


def _write_shards(
    folder: Path,
    orders: Sequence[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]],
    width: type[np.uint16 | np.uint32],
) -> None:
    shards = (len(orders[0][2]) - 1) // 2 if orders else 0
    rows = [words.astype(width) for words, _, _ in orders]
    starts = np.stack([one for _, _, one in orders]) if orders else np.zeros((0, 1), np.int64)
    counted = _find_counted(starts)
    places = [0]
    with (folder / "ngrams").open("wb") as file:
        for shard in range(shards):
            for place, (_, counts, _) in enumerate(orders):
                file.write(counts[counted[place, shard] : counted[place, shard + 1]].data)
            for words, one in zip(rows, starts, strict=True):
                file.write(words[one[2 * shard] : one[2 * shard + 2]].data)
            file.write(bytes(-file.tell() % np.dtype(np.uint32).itemsize))
            places.append(file.tell())
    np.save(folder / "starts.npy", starts)
    np.save(folder / "places.npy", np.asarray(places))


def _find_counted(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the counts of each shard begin, by order: only some n-grams have one."""
    counted = np.zeros((len(starts), (starts.shape[1] - 1) // 2 + 1), np.int64)
    np.cumsum(starts[:, 2::2] - starts[:, 1::2], axis=1, out=counted[:, 1:])
    return counted


@dataclass(frozen=True)
class Part:
    """A part's n-grams on disk, and the ranks of its words in the whole."""

    file: Path
    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    ranks: NDArray[np.uint32]

    @classmethod
    def open(cls, folder: Path) -> Part:
        """Read all but the n-grams."""
        read = [np.load(folder / f"{name}.npy") for name in ("starts", "places", "ranks")]
        return cls(folder / "ngrams", *read)

    def read(
        self, shard: int
    ) -> list[tuple[NDArray[np.uint16 | np.uint32], NDArray[np.uint32], NDArray[np.uint32]]]:
        """Return rows of words, ranks and counts of one shard, by order from 2 on."""
        if not len(self.starts):  # words alone were counted
            return []
        begin, end = self.places[shard : shard + 2].tolist()
        content = np.fromfile(self.file, np.uint8, end - begin, offset=begin)
        width = np.dtype(_choose_width(len(self.ranks)))
        spans = self.starts[:, 2 * shard : 2 * shard + 3].tolist()
        counts, at = [], 0
        for _, middle, last in spans:
            counts.append(content[at : at + 4 * (last - middle)].view(np.uint32))
            at += 4 * (last - middle)
        found = []
        for n, ((first, _, last), several) in enumerate(zip(spans, counts, strict=True), start=2):
            size = n * (last - first) * width.itemsize
            words = content[at : at + size].view(width).reshape(-1, n)
            found.append((words, self.ranks, several))
            at += size
        return found


def merge_words(parts: Sequence[Path], min_count: int) -> tuple[list[str], NDArray[np.uint32]]:
    """Merge the words of all parts, and return the ranks of each part's words.

    Words of fewer than `min_count` images have no rank, which is written as the largest number.
    """
    counts: dict[str, int] = {}
    for part in parts:
        words = json.loads((part / "words.json").read_text(encoding="utf-8"))
        for word, count in zip(words, np.load(part / "1.counts.npy").tolist(), strict=True):
            counts[word] = counts.get(word, 0) + count
    kept = sorted((word for word, count in counts.items() if count >= min_count), key=str.encode)
    rank = {word: place for place, word in enumerate(kept)}
    for part in parts:
        words = json.loads((part / "words.json").read_text(encoding="utf-8"))
        ranks = np.fromiter((rank.get(w, 0xFFFFFFFF) for w in words), np.uint32, len(words))
        save_array(part / "ranks.npy", ranks)
    return kept, np.asarray([counts[word] for word in kept], np.uint32)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array; the file appears when it is complete."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.npy")
    try:
        np.save(temporary, array)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def merge_shard(
    parts: Sequence[Part], shard: int, word_count: int, min_count: int, folder: Path
) -> None:
    """Add up one shard of all parts; n-grams of fewer than `min_count` images are dropped."""
    for n, shares in enumerate(zip(*(part.read(shard) for part in parts), strict=True), start=2):
        words, counts = add_up_shard(list(shares), n, word_count, min_count)
        save_array(folder / f"{n}.{shard}.words.npy", words)
        save_array(folder / f"{n}.{shard}.counts.npy", counts)


def assemble(
    words: Sequence[str],
    counts: NDArray[np.uint32],
    folder: Path,
    order: int,
    shards: int,
    **settings: Any,
) -> DocumentFrequencies:
    """Put the merged shards together; `settings` are those of `DocumentFrequencies`."""
    ranks = np.arange(len(words), dtype=np.uint32)
    levels = [Level(np.empty(0, np.uint32), ranks, counts)]
    keys: list[NDArray[np.uint64]] = []
    for n in range(2, order + 1):
        found = [np.load(folder / f"{n}.{shard}.words.npy") for shard in range(shards)]
        ngrams = np.concatenate(found)
        del found
        many = np.concatenate([np.load(folder / f"{n}.{s}.counts.npy") for s in range(shards)])
        rank = ngrams[:, 0].astype(np.uint64)
        for shorter in range(2, n):
            joined = rank << np.uint64(32) | ngrams[:, shorter - 1].astype(np.uint64)
            rank = np.searchsorted(keys[shorter - 2], joined).astype(np.uint64)
        joined = rank << np.uint64(32) | ngrams[:, n - 1].astype(np.uint64)
        del ngrams, rank
        sequence = np.argsort(joined)
        joined = joined[sequence]
        keys.append(joined)
        last = (joined & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        levels.append(Level((joined >> np.uint64(32)).astype(np.uint32), last, many[sequence]))
    return DocumentFrequencies(tuple(words), tuple(levels), **settings)
