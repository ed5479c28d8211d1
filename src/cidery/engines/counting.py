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
from cidery.engines.partitions import SplitTask, read_partition
from cidery.engines.plan import WORK_PREFIX, Input, Plan, StepProgress, lock_folder
from cidery.errors import InputError, MismatchError, SettingError
from cidery.frequencies import (
    MAX_ORDER,
    CountedFrequencies,
    DocumentFrequencies,
    Part,
    assemble,
    merge_shard,
    merge_words,
    write_part,
)
from cidery.storage import identify_file, write_atomically
from cidery.text import Tokenizer, TokenizerLike, choose_tokenizer, stem_form

SHARD_CAPTIONS = 400_000
"""References per shard: about six million n-grams, which are merged in memory."""
SHARDS_PER_TASK = 16
"""Maximum number of shards that one task merges; it opens each partition once."""
TASKS_PER_WORKER = 2
"""Minimum number of tasks per worker, so that the last task is short."""
MAX_EXAMPLES = 3
"""Maximum number of ids in a message."""


@dataclass(frozen=True)
class CountTask:
    """Task: match one partition, and count its n-grams."""

    splits: list[SplitTask]
    number: int
    tokenizer: Tokenizer
    missing: Missing
    orders: Mapping[str | None, int]
    """stemmer -> longest n-grams; empty: none are counted"""
    shards: int
    folder: Path
    references_only: bool = False

    def part(self, stemmer: str | None) -> Path:
        """Return the folder of this partition's n-grams."""
        return self.folder / f"{stemmer or 'words'}-{self.number:06}"


def count_partition(task: CountTask) -> dict[str, Any]:
    """Write the n-grams of one partition; return its numbers of images and captions."""
    summary = task.folder / f"{task.number:06}.json"
    if summary.exists():
        known: dict[str, Any] = json.loads(summary.read_text())
        return known
    partition = read_partition(task.splits, task.number, task.references_only)
    content = {
        "number": task.number,
        "images": len(partition.images),
        "captions": len(partition.candidates),
        "sizes": partition.sizes,
        "unmatched": {
            reason: [len(images), images[:MAX_EXAMPLES]]
            for reason, images in partition.unmatched_ids.items()
        },
    }
    if task.orders and partition.images and (task.missing == "skip" or not _has_unmatched(content)):
        tokenized = task.tokenizer.tokenize_column(partition.references, 1)
        for stemmer, order in task.orders.items():
            form = stem_form(stemmer)
            offsets = partition.reference_offsets.astype(np.uint64)
            write_part(task.part(stemmer), tokenized.form(form), offsets, order, task.shards)
    write_atomically(summary, json.dumps(content).encode())
    return content


def _has_unmatched(content: Mapping[str, Any]) -> bool:
    return any(count for count, _ in content["unmatched"].values())


@dataclass(frozen=True)
class PartitionSummary:
    """Numbers of images and captions in all partitions."""

    images: int
    captions: int
    sizes: tuple[int, int]
    """Smallest and largest number of references of an image."""
    partitions: list[int]
    """Numbers of partitions that have images."""


def scan_partitions(
    plan: Plan,
    engine: Engine,
    orders: Mapping[str | None, int],
    tokenizer: Tokenizer,
    missing: Missing,
    shards: int,
) -> tuple[PartitionSummary, list[CountTask]]:
    """Match candidates and references and count n-grams, partition by partition."""
    folder = plan.folder / "count"
    tasks = [
        CountTask(
            plan.splits,
            number,
            tokenizer,
            missing,
            dict(orders),
            shards,
            folder,
            len(plan.inputs) == 1,
        )
        for number in range(plan.partitions)
    ]
    progress = StepProgress("counting n-grams", "images", lambda content: int(content["images"]))
    found = sorted(
        progress.track(engine.map(count_partition, tasks), len(tasks)),
        key=lambda content: int(content["number"]),
    )
    if missing == "error":
        _check_unmatched(plan, found)
    sizes = [content["sizes"] for content in found if content["sizes"]]
    if not sizes:
        raise MismatchError(
            f"nothing to score: no image has both candidates ({plan.inputs[0].source}) and "
            f"references ({plan.inputs[-1].source})"
        )
    return (
        PartitionSummary(
            sum(content["images"] for content in found),
            sum(content["captions"] for content in found),
            (min(low for low, _ in sizes), max(high for _, high in sizes)),
            [content["number"] for content in found if content["images"]],
        ),
        tasks,
    )


def _check_unmatched(plan: Plan, found: Sequence[Mapping[str, Any]]) -> None:
    names = {each.side: each.source for each in plan.inputs}
    problems = {
        "no_references": ("candidates but no references", names.get("candidates", "")),
        "no_candidates": ("references but no candidates", names["references"]),
        "empty_references": ("an empty list of references", names["references"]),
    }
    parts = []
    for reason, (problem, name) in problems.items():
        unmatched = [content["unmatched"][reason] for content in found]
        count = sum(number for number, _ in unmatched)
        shown = [image for _, images in unmatched for image in images][:MAX_EXAMPLES]
        if count == 1:
            parts.append(f"image {shown[0]!r} has {problem} ({name})")
        elif count:
            more = ", …" if count > len(shown) else ""
            listed = ", ".join(map(repr, shown))
            parts.append(f"{count} images have {problem}: {listed}{more} ({name})")
    if parts:
        advice = 'pass missing="skip" (--missing skip) to leave them out'
        if len(parts) > 1:
            advice += "; streams compare ids exactly, without --stream they match by number too"
        raise MismatchError("; ".join((*parts, advice)))


@dataclass(frozen=True)
class MergeTask:
    """Task: merge some shards of all partitions."""

    parts: list[Path]
    shards: range
    words: int
    min_count: int
    folder: Path


def merge_shards(task: MergeTask) -> None:
    """Write the merged shards that no earlier run wrote."""
    marks = {shard: task.folder / f"{shard}.done" for shard in task.shards}
    left = [shard for shard in task.shards if not marks[shard].exists()]
    parts = [Part.open(part) for part in task.parts] if left else []
    for shard in left:
        merge_shard(parts, shard, task.words, task.min_count, task.folder)
        write_atomically(marks[shard], b"")


def merge_counts(
    tasks: Sequence[CountTask],
    summary: PartitionSummary,
    engine: Engine,
    stemmer: str | None,
    *,
    min_count: int,
    name: str,
    source: str = "",
) -> DocumentFrequencies:
    """Return the document frequencies of all partitions."""
    first = tasks[0]
    order = first.orders[stemmer]
    parts = [tasks[number].part(stemmer) for number in summary.partitions]
    folder = first.folder / f"{stemmer or 'words'}-merged"
    folder.mkdir(exist_ok=True)
    words, counts = merge_words(parts, min_count)
    together = max(1, min(SHARDS_PER_TASK, first.shards // (TASKS_PER_WORKER * engine.workers)))
    merges = [
        MergeTask(
            parts, range(first.shards)[begin : begin + together], len(words), min_count, folder
        )
        for begin in range(0, first.shards, together)
    ]
    progress = StepProgress("merging n-grams")
    for _ in progress.track(engine.map(merge_shards, merges), len(merges)):
        pass
    return assemble(
        words,
        counts,
        folder,
        order,
        first.shards,
        image_count=summary.images,
        tokenizer=first.tokenizer.family,
        stemmer=stemmer,
        min_count=min_count,
        name=name,
        source=source,
    )


def load_counted(files: Mapping[str | None, Path], image_count: int) -> CountedFrequencies:
    """Memory-map the counted document frequencies, which processes of a machine share."""
    sets = {stemmer: _load(str(file)) for stemmer, file in files.items()}
    return CountedFrequencies(sets, image_count)


_loaded: dict[str, tuple[tuple[int | str, ...], DocumentFrequencies]] = {}


def _load(file: str) -> DocumentFrequencies:
    """Memory-map document frequencies, once per process while the file does not change."""
    key = identify_file(file)
    if file not in _loaded or _loaded[file][0] != key:
        _loaded.clear()  # of an earlier stream
        _loaded[file] = key, DocumentFrequencies.load(file)
    return _loaded[file][1]


def release_counted() -> None:
    """Release the mapped document frequencies, whose files are removed."""
    _loaded.clear()


def check_tokenizer(tokenizer: Tokenizer) -> None:
    """Raise a SettingError for the tokenizer that reads all captions as one document."""
    if tokenizer.id == "ptb-coco":
        raise SettingError(
            "the tokenizer ptb-coco reads all captions as one document, which streams do not "
            "support; use ptb, which tokenizes each caption separately"
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
        references: Parquet, Arrow or JSON-lines file, folder, pattern or URL.
        tokenizer: as for `score`.
        language: as for `score`.
        stemmer: language of the stems to count. Default: words.
        n: length of the longest n-grams.
        min_count: minimum number of images of an n-gram.
        name: name of the set in signatures.
        source: origin and license of the captions.
        caption_field: column of the references. Default: a well-known name.
        id_field: column of the image ids. Default: a well-known name.
        engine: `"local"`, `"ray"` or an Engine.
        work: working directory. Rerun the same call to resume. Default: a folder
            `cidery-work-…` in the current directory.
        partitions: number of partitions, a power of two. Default: by the size of the inputs.

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
    found = Input.find(references, "references", caption_field, id_field, [work])
    settings = {
        "frequencies": [chosen.id, chosen.language, stemmer, n, min_count],
    }
    folder = choose_folder(work, [found], settings)
    with lock_folder(folder):
        content = describe_content({}, chosen)
        plan, inputs = Plan.open([found], settings, content, folder, partitions).split(runner)
        shards = max(1, -(-inputs["references"].captions // SHARD_CAPTIONS))
        summary, tasks = scan_partitions(plan, runner, {stemmer: n}, chosen, "error", shards)
        frequencies = merge_counts(
            tasks, summary, runner, stemmer, min_count=min_count, name=name, source=source
        )
        plan.close()
    return frequencies


def choose_folder(
    work: str | Path | None, inputs: Sequence[Input], settings: Mapping[str, Any]
) -> Path:
    """Return the working directory: the given one, or a default that depends on the settings."""
    import hashlib

    if work is not None:
        path = Path(work)
        if path.exists() and not path.is_dir():
            raise InputError(f"{work} is a file; pass a folder as working directory (--work)")
        return path.absolute()
    known = [[each.source, each.caption_field, each.id_field] for each in inputs]
    digest = hashlib.sha256(json.dumps([known, settings], default=repr).encode()).hexdigest()
    return Path(f"{WORK_PREFIX}{digest[:12]}").absolute()
