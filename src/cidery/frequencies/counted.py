"""Document frequencies counted in parts: each part by itself, then merged shard by shard.

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
        """Return the set that a metric with these stems weighs with."""
        if stemmer not in self.sets:
            raise FrequenciesError(f"no document frequencies were counted with stemmer={stemmer!r}")
        return self.sets[stemmer]


def write_part(
    folder: Path, captions: Captions, offsets: NDArray[np.uint64], order: int, shards: int
) -> None:
    """Count one part's images and write its n-grams by shard; the folder appears when complete.

    `n.words` has a row of words, as numbers of `words.json`, per n-gram; in each shard those of a
    single image come first, and only the others have an entry in `n.counts`.
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
        width = np.uint16 if len(vocabulary) <= 0xFFFF else np.uint32
        for n, (rows, several, starts) in enumerate(index.shard(hashes, shards), start=2):
            np.save(temporary / f"{n}.words.npy", rows.astype(width))
            np.save(temporary / f"{n}.counts.npy", several)
            np.save(temporary / f"{n}.starts.npy", starts)
        if folder.exists():  # of an attempt that was given up
            shutil.rmtree(folder)
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def merge_words(parts: Sequence[Path], min_count: int) -> tuple[list[str], NDArray[np.uint32]]:
    """Add up the words of all parts, and tell each part the rank of its words in the whole.

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
    parts: Sequence[Path], shard: int, order: int, word_count: int, min_count: int, folder: Path
) -> None:
    """Add up one shard of all parts; n-grams of fewer than `min_count` images are left out."""
    ranks = [np.load(part / "ranks.npy") for part in parts]
    for n in range(2, order + 1):
        shares = [
            (*_read_shard(part, n, shard), rank) for part, rank in zip(parts, ranks, strict=True)
        ]
        words, counts = add_up_shard(
            [(words, rank, counts) for words, counts, rank in shares], n, word_count, min_count
        )
        save_array(folder / f"{n}.{shard}.words.npy", words)
        save_array(folder / f"{n}.{shard}.counts.npy", counts)


def _read_shard(part: Path, n: int, shard: int) -> tuple[NDArray[Any], NDArray[np.uint32]]:
    """Map a part's n-grams of one shard, and the counts of those of several images."""
    starts = np.load(part / f"{n}.starts.npy")
    words = np.load(part / f"{n}.words.npy", mmap_mode="r")
    counts = np.load(part / f"{n}.counts.npy", mmap_mode="r")
    begin, middle, end = starts[2 * shard : 2 * shard + 3].tolist()
    # Entries before this shard's that have a count are those of the shards before.
    before = int(np.sum(starts[2 : 2 * shard + 1 : 2] - starts[1 : 2 * shard : 2]))
    return words[begin:end], counts[before : before + end - middle]


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
