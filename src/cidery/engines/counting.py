"""Document frequencies of a stream: counted partition by partition, merged shard by shard."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cidery.corpus import Missing
from cidery.engines.base import Engine, EngineLike, get_engine
from cidery.engines.content import describe_content
from cidery.engines.plan import WORK, Input, Plan, Progress, locked
from cidery.engines.spill import Split, gather
from cidery.errors import InputError, MismatchError, SettingError
from cidery.frequencies import MAX_ORDER, CountedFrequencies, DocumentFrequencies
from cidery.frequencies.counted import Part, assemble, merge_shard, merge_words, write_part
from cidery.storage import write_atomically
from cidery.text import Tokenizer, TokenizerLike, choose_tokenizer, stem_form

SHARD_CAPTIONS = 400_000
"""References per shard: some six million n-grams, which are merged in memory."""
SHARDS_TOGETHER = 16
"""Shards that one task merges: it opens each partition once for all of them."""
TASKS_EACH = 2
"""Tasks per worker, at the least: what ends last must not be long."""
_EXAMPLES = 3


@dataclass(frozen=True)
class Count:
    """Looks at one partition: which images have both sides, and their n-grams."""

    splits: list[Split]
    number: int
    tokenizer: Tokenizer
    missing: Missing
    orders: Mapping[str | None, int]
    """stemmer -> the longest n-grams to count; empty: none are counted"""
    shards: int
    folder: Path
    alone: bool = False
    """Whether there are references only."""

    def part(self, stemmer: str | None) -> Path:
        """Return the folder of this partition's n-grams."""
        return self.folder / f"{stemmer or 'words'}-{self.number:06}"


def count_partition(task: Count) -> dict[str, Any]:
    """Write one partition's n-grams, and return what the plan must know of its images."""
    summary = task.folder / f"{task.number:06}.json"
    if summary.exists():
        known: dict[str, Any] = json.loads(summary.read_text())
        return known
    partition = gather(task.splits, task.number, task.alone)
    content = {
        "number": task.number,
        "images": len(partition.images),
        "captions": len(partition.candidates),
        "sizes": partition.sizes,
        **{kind: [len(images), images[:_EXAMPLES]] for kind, images in partition.lacks.items()},
    }
    if task.orders and partition.images and (task.missing == "skip" or not _lacks(content)):
        tokenized = task.tokenizer.cut_column(partition.references, 1)
        for stemmer, order in task.orders.items():
            form = stem_form(stemmer)
            offsets = partition.reference_offsets.astype(np.uint64)
            write_part(task.part(stemmer), tokenized.form(form), offsets, order, task.shards)
    write_atomically(summary, json.dumps(content).encode())
    return content


def _lacks(content: Mapping[str, Any]) -> bool:
    return any(content[key][0] for key in ("alone", "without", "empty"))


@dataclass(frozen=True)
class Looked:
    """What is known after all partitions were looked at."""

    images: int
    captions: int
    sizes: tuple[int, int]
    """The fewest and the most references of an image."""
    partitions: list[int]
    """Those that have images to score."""


def look(
    plan: Plan,
    engine: Engine,
    orders: Mapping[str | None, int],
    tokenizer: Tokenizer,
    missing: Missing,
    shards: int,
) -> tuple[Looked, list[Count]]:
    """Match both sides and count n-grams, partition by partition."""
    alone = len(plan.inputs) == 1
    folder = plan.folder / "count"
    tasks = [
        Count(plan.splits, number, tokenizer, missing, dict(orders), shards, folder, alone)
        for number in range(plan.partitions)
    ]
    progress = Progress("counting n-grams", "images", lambda content: int(content["images"]))
    found = sorted(
        progress.follow(engine.map(count_partition, tasks), len(tasks)),
        key=lambda content: int(content["number"]),
    )
    if missing == "error":
        _check(plan, found)
    sizes = [content["sizes"] for content in found if content["sizes"]]
    if not sizes:
        given = [each.given for each in plan.inputs]
        raise MismatchError(
            f"nothing is left to score: no image has both candidates ({given[0]}) and references "
            f"({given[-1]})"
        )
    return (
        Looked(
            sum(content["images"] for content in found),
            sum(content["captions"] for content in found),
            (min(low for low, _ in sizes), max(high for _, high in sizes)),
            [content["number"] for content in found if content["images"]],
        ),
        tasks,
    )


def _check(plan: Plan, found: Sequence[Mapping[str, Any]]) -> None:
    names = {each.side: each.given for each in plan.inputs}
    told = {
        "alone": ("candidates but no references", names.get("candidates", "")),
        "without": ("references but no candidates", names["references"]),
        "empty": ("an empty list of references", names["references"]),
    }
    parts = []
    for key, (what, name) in told.items():
        count = sum(content[key][0] for content in found)
        shown = [image for content in found for image in content[key][1]][:_EXAMPLES]
        if count == 1:
            parts.append(f"image {shown[0]!r} has {what} ({name})")
        elif count:
            more = ", …" if count > len(shown) else ""
            listed = ", ".join(map(repr, shown))
            parts.append(f"{count} images have {what}: {listed}{more} ({name})")
    if parts:
        advice = 'pass missing="skip" (--missing skip) to leave them out'
        raise MismatchError("; ".join((*parts, advice)))


@dataclass(frozen=True)
class Merge:
    """Merges some shards of all parts."""

    parts: list[Path]
    shards: range
    words: int
    min_count: int
    folder: Path


def merge(task: Merge) -> None:
    """Write the merged shards, but those that an earlier run wrote."""
    marks = {shard: task.folder / f"{shard}.done" for shard in task.shards}
    left = [shard for shard in task.shards if not marks[shard].exists()]
    parts = [Part.open(part) for part in task.parts] if left else []
    for shard in left:
        merge_shard(parts, shard, task.words, task.min_count, task.folder)
        write_atomically(marks[shard], b"")


def merge_counts(
    tasks: Sequence[Count],
    looked: Looked,
    engine: Engine,
    stemmer: str | None,
    *,
    min_count: int,
    name: str,
    source: str = "",
) -> DocumentFrequencies:
    """Put the n-grams of all partitions together."""
    first = tasks[0]
    order = first.orders[stemmer]
    parts = [tasks[number].part(stemmer) for number in looked.partitions]
    folder = first.folder / f"{stemmer or 'words'}-merged"
    folder.mkdir(exist_ok=True)
    words, counts = merge_words(parts, min_count)
    together = max(1, min(SHARDS_TOGETHER, first.shards // (TASKS_EACH * engine.workers)))
    merges = [
        Merge(parts, range(first.shards)[begin : begin + together], len(words), min_count, folder)
        for begin in range(0, first.shards, together)
    ]
    progress = Progress("merging n-grams")
    for _ in progress.follow(engine.map(merge, merges), len(merges)):
        pass
    return assemble(
        words,
        counts,
        folder,
        order,
        first.shards,
        image_count=looked.images,
        tokenizer=first.tokenizer.family,
        stemmer=stemmer,
        min_count=min_count,
        name=name,
        source=source,
    )


def load_counted(files: Mapping[str | None, Path], image_count: int) -> CountedFrequencies:
    """Map the sets that were counted; processes of a machine share their memory."""
    sets = {stemmer: _load(str(file)) for stemmer, file in files.items()}
    return CountedFrequencies(sets, image_count)


_loaded: dict[str, tuple[int, DocumentFrequencies]] = {}


def _load(file: str) -> DocumentFrequencies:
    """Map a set, once per process for as long as the file does not change."""
    changed = Path(file).stat().st_mtime_ns
    if file not in _loaded or _loaded[file][0] != changed:
        _loaded.clear()  # of an earlier stream
        _loaded[file] = changed, DocumentFrequencies.load(file)
    return _loaded[file][1]


def forget_counted() -> None:
    """Let go of the sets that this process mapped, whose files are removed."""
    _loaded.clear()


def check_tokenizer(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer that reads captions as one document: a part would be cut otherwise."""
    if tokenizer.id == "ptb-coco":
        raise SettingError(
            "the tokenizer ptb-coco reads all captions as one document, of which a stream sees "
            "parts; use ptb, which cuts each caption by itself"
        )


def count_frequencies(
    references: str,
    *,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    stemmer: str | None = None,
    n: int = 4,
    min_count: int = 1,
    name: str = "unnamed",
    source: str = "",
    caption_field: str | None = None,
    id_field: str | None = None,
    engine: EngineLike = "local",
    work: str | Path | None = None,
    partitions: int | None = None,
) -> DocumentFrequencies:
    """Count document frequencies of references that need not fit in memory.

    The result is that of `DocumentFrequencies.from_references`, to the byte of its file.

    Args:
        references: a Parquet, Arrow or JSON-lines file, a folder, a pattern or a URL of these.
        tokenizer: as `score` takes it.
        language: as `score` takes it.
        stemmer: counts stems of that language.
        n: the longest n-grams.
        min_count: n-grams of fewer images are left out.
        name: what signatures call the set.
        source: where the captions come from, and their license.
        caption_field: the column of the references; by default a well-known one.
        id_field: the column of the ids; by default a well-known one.
        engine: `"local"`, `"ray"` or an Engine.
        work: the folder for what is begun; by default one beside the present folder's files.
        partitions: how many parts there are, a power of two; by default as the size asks for.

    ```py
    cidery.engines.count_frequencies("references/*.parquet", min_count=2).save("mine.df")
    ```
    """
    if not 1 <= n <= MAX_ORDER:
        raise SettingError(f"n (-n) must be a whole number from 1 to {MAX_ORDER}, not {n}")
    if min_count < 1:
        raise SettingError(f"min_count (--min-count) must be at least 1, not {min_count}")
    chosen = choose_tokenizer(tokenizer, language)
    check_tokenizer(chosen)
    runner = get_engine(engine)
    given = Input.find(references, "references", caption_field, id_field, [work])
    settings = {
        "frequencies": [chosen.id, chosen.language, stemmer, n, min_count],
    }
    folder = choose_folder(work, [given], settings)
    with locked(folder):
        content = describe_content({}, chosen)
        plan, counts = Plan.open([given], settings, content, folder, partitions).split(
            runner, Progress("reading captions")
        )
        shards = max(1, -(-counts["references"].captions // SHARD_CAPTIONS))
        looked, tasks = look(plan, runner, {stemmer: n}, chosen, "error", shards)
        found = merge_counts(
            tasks, looked, runner, stemmer, min_count=min_count, name=name, source=source
        )
        plan.close()
    return found


def choose_folder(
    work: str | Path | None, inputs: Sequence[Input], settings: Mapping[str, Any]
) -> Path:
    """Return the folder of a plan: the one named, or one that the same command finds again."""
    import hashlib

    if work is not None:
        path = Path(work)
        if path.exists() and not path.is_dir():
            raise InputError(f"{work} is a file; name a folder for what is begun (--work)")
        return path.absolute()
    known = [[each.given, each.caption_field, each.id_field] for each in inputs]
    digest = hashlib.sha256(json.dumps([known, settings], default=repr).encode()).hexdigest()
    return Path(f"{WORK}{digest[:12]}").absolute()
