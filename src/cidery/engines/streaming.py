"""score_stream(): score captions that do not fit in memory, in two passes.

N-grams are counted partition by partition, then each partition is scored with the counts of all.
Scores are bit-identical to those of `score`: sums are exact, whatever the partitions are.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus import Corpus, Missing
from cidery.engines.base import Engine, EngineLike, get_engine
from cidery.engines.content import describe_content
from cidery.engines.counting import (
    SHARD_CAPTIONS,
    PartitionSummary,
    check_tokenizer,
    choose_folder,
    load_counted,
    merge_counts,
    release_counted,
    scan_partitions,
)
from cidery.engines.partitions import (
    GROUP_BITS,
    Origins,
    Partition,
    SplitTask,
    read_partition,
    replacing,
)
from cidery.engines.plan import MANIFEST, Input, Plan, StepProgress, check_ids, lock_folder
from cidery.engines.results import StreamResult
from cidery.errors import CideryError, InputError, SettingError, UnreliableWarning
from cidery.files import Side, import_pyarrow
from cidery.frequencies import CountedFrequencies, DocumentFrequencies
from cidery.metrics import Metric
from cidery.metrics.base import GroupedCaptions, TokenizedCandidates, TokenizedReferences
from cidery.runtime import split_progress
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.score_table import Resampling, ScoreTable
from cidery.scoring.scorer import pool_counted, sum_images
from cidery.statistics import ExactSums, Floats, sum_by_group
from cidery.storage import write_atomically
from cidery.text import scan_captions

if TYPE_CHECKING:
    from typing_extensions import Unpack

DURATIONS = (2.0, 2.0, 1.0, 5.0)
"""Relative durations of reading, counting, merging and scoring, for progress."""
MIN_COUNT = 2
"""N-grams of fewer images are not stored: their weight, log max(1, df), is that of unseen ones."""


@dataclass(frozen=True)
class ScoreTask:
    """Task: score one partition."""

    splits: list[SplitTask]
    number: int
    pipeline: Pipeline
    counted: Mapping[str | None, Path]
    """stemmer -> document frequencies counted on all partitions"""
    images: int
    """Number of images in all partitions."""
    integer_ids: bool
    """True if the ids of candidates are integers."""
    folder: Path
    captions: Path | None

    @property
    def rows_file(self) -> Path | None:
        """File of the scores of captions."""
        return self.captions and self.captions / f"part-{self.number:06}.parquet"

    @property
    def sums_file(self) -> Path:
        """File of the sums, which is written last."""
        return self.folder / f"{self.number:06}.json"

    @property
    def is_done(self) -> bool:
        """True if an earlier run did this task."""
        return self.sums_file.exists() and (self.rows_file is None or self.rows_file.exists())


def score_partition(task: ScoreTask) -> int:
    """Write the scores and sums of one partition; return its number of captions."""
    if task.is_done:
        return int(json.loads(task.sums_file.read_text())["captions"])
    partition = read_partition(task.splits, task.number)
    frequencies = (
        load_counted(task.counted, task.images)
        if task.pipeline.frequencies == "references"
        else task.pipeline.frequencies
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)  # one per partition is too many
        try:
            measured = _measure(task.pipeline, partition, frequencies)
        except Exception as error:
            raise _locate_error(task.pipeline, partition, frequencies, error) from error
    if task.rows_file is not None:
        _write_rows(task, task.rows_file, partition, measured)
    _write_sums(task, partition, measured)
    return len(partition.candidates)


def _measure(
    pipeline: Pipeline,
    partition: Partition,
    frequencies: str | DocumentFrequencies | CountedFrequencies,
) -> dict[str, Floats]:
    """Return the rows of each metric."""
    tokenize = pipeline.tokenizer.tokenize_column
    offsets = partition.reference_offsets.astype(np.uint64)
    groups = GroupedCaptions(tokenize(partition.references, 1), offsets)
    references = TokenizedReferences(groups, pipeline.tokenizer, frequencies, partition.images)
    images = partition.candidate_images.astype(np.uint32)
    candidates = TokenizedCandidates(tokenize(partition.candidates, 1), images)
    return pipeline.prepare_tokenized(references).measure_tokenized(candidates)


def _locate_error(
    pipeline: Pipeline,
    partition: Partition,
    frequencies: str | DocumentFrequencies | CountedFrequencies,
    error: Exception,
) -> Exception:
    """Return the error with the file and row of the first caption that cannot be scored."""
    ends = partition.reference_offsets.tolist()
    for row, place in enumerate(partition.candidate_images.tolist()):
        image = partition.images[place]
        references = {image: partition.references[ends[place] : ends[place + 1]]}
        corpus = Corpus.build({image: partition.candidates[row]}, references)
        try:
            tokenized = pipeline.tokenize(corpus).weighted_by(frequencies)
            scorer = pipeline.prepare_tokenized(tokenized)
            scorer.measure(corpus.candidates, corpus.candidate_images)
        except Exception as cause:
            reason = str(cause) or type(cause).__name__
            kind = type(cause) if isinstance(cause, CideryError) else InputError
            where = partition.origins[row]
            return kind(f"{where} (image {image!r}): cannot be scored: {reason}")
    return error


def _write_rows(
    task: ScoreTask, file: Path, partition: Partition, measured: Mapping[str, Floats]
) -> None:
    pa = import_pyarrow("pyarrow", "write Parquet files")
    parquet = import_pyarrow("pyarrow.parquet", "write Parquet files")
    ids = pa.array(partition.images, pa.string()).take(pa.array(partition.candidate_images))
    table = pa.table(
        {
            "image_id": ids.cast(pa.int64()) if task.integer_ids else ids,
            "file": _name_files(partition.origins),
            "row": pa.array(partition.origins.rows),
            **{label: m.each(measured[label]) for label, m in task.pipeline.metrics.items()},
        }
    )
    with replacing(file) as temporary:
        parquet.write_table(table, str(temporary))


def _name_files(origins: Origins) -> Any:
    pa = import_pyarrow("pyarrow", "write Parquet files")
    files = list(dict.fromkeys(chunk.file for chunk in origins.chunks))
    number = {file: place for place, file in enumerate(files)}
    of_chunk = np.asarray([number[chunk.file] for chunk in origins.chunks], np.int32)
    return pa.DictionaryArray.from_arrays(of_chunk[origins.places], pa.array(files))


def _write_sums(task: ScoreTask, partition: Partition, measured: Mapping[str, Floats]) -> None:
    """Write the exact sums of rows, and the sums of images by group for the intervals."""
    groups = (partition.hashes >> np.uint64(64 - GROUP_BITS)).astype(np.int64)
    present, places = np.unique(groups, return_inverse=True)
    shared: dict[int, str] = {}
    arrays: dict[str, Any] = {"groups": present}
    sums = {}
    for label, rows in measured.items():
        first = shared.setdefault(id(rows), label)  # metrics that share rows share sums
        if first == label:
            sums[label] = ExactSums.of(rows).to_dict()
            by_image = sum_images(rows, partition.candidate_images, len(partition.images))
            arrays[label] = sum_by_group(by_image, places, len(present))
    with replacing(task.sums_file.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
    content = {
        "captions": len(partition.candidates),
        "sums": sums,
        "sources": {label: shared[id(rows)] for label, rows in measured.items()},
    }
    write_atomically(task.sums_file, json.dumps(content).encode())


def score_stream(
    candidates: str,
    references: str,
    metrics: PipelineLike = None,
    *,
    captions: str | Path | None = None,
    missing: Missing = "error",
    caption_field: str | None = None,
    reference_field: str | None = None,
    id_field: str | None = None,
    reference_id_field: str | None = None,
    engine: EngineLike = "local",
    work: str | Path | None = None,
    partitions: int | None = None,
    **settings: Unpack[PipelineSettings],
) -> StreamResult:
    """Score captions that do not fit in memory; scores are bit-identical to those of `score`.

    Args:
        candidates: Parquet, Arrow or JSON-lines file, folder, pattern such as
            `"samples/*.parquet"`, or URL that fsspec opens, such as `"s3://bucket/samples"`.
        references: the same.
        metrics: as for `score`.
        captions: output folder for the scores of captions, one Parquet file per partition. It
            must not contain such files of another run.
        missing: as for `score`.
        caption_field: column of the captions. Default: a well-known name.
        reference_field: column of the references. Default: a well-known name.
        id_field: column of the image ids. Default: a well-known name.
        reference_id_field: the same for references. Default: `id_field`.
        engine: `"local"` (processes of this machine), `"ray"`, or an Engine.
        work: working directory, with space for a copy of the captions. Rerun the same call to
            resume. It is removed at the end. Default: a folder `cidery-work-…` in the current
            directory.
        partitions: number of partitions, a power of two. Default: by the size of the inputs.
            Scores do not depend on it.
        settings: as for `score`, except the tokenizer `"ptb-coco"`, which reads all captions as
            one document. The engine sets the number of threads.

    ```py
    result = cidery.score_stream("samples/*.parquet", "references.parquet", captions="scores")
    result.table.corpus["cider-d"]
    ```
    """
    pipeline = replace(Pipeline.choose(metrics, **settings), threads=1)
    _check_metrics(pipeline.metrics)
    check_tokenizer(pipeline.tokenizer)
    runner = get_engine(engine)
    sides: tuple[tuple[str, Side, str | None, str | None], ...] = (
        (candidates, "candidates", caption_field, id_field),
        (references, "references", reference_field, reference_id_field or id_field),
    )
    inputs = [
        Input.find(source, side, captions_in, ids_in, [work, captions])
        for source, side, captions_in, ids_in in sides
    ]
    output = None if captions is None else Path(captions).absolute()
    frequencies = pipeline.frequencies
    key = {
        # Their order is that of the columns, and decides which of equal rows are stored.
        "metrics": [[label, _describe_metric(m)] for label, m in pipeline.metrics.items()],
        "tokenizer": [pipeline.tokenizer.id, pipeline.language],
        "frequencies": frequencies if isinstance(frequencies, str) else frequencies.name,
        "missing": missing,
        "captions": None if output is None else str(output),
    }
    folder = choose_folder(work, inputs, key)
    with lock_folder(folder):
        if output is not None and not (folder / MANIFEST).exists():
            _check_output(output)
        content = describe_content(pipeline.metrics, pipeline.tokenizer, pipeline.frequencies)
        plan = Plan.open(inputs, key, content, folder, partitions)
        result = _run(plan, runner, pipeline, missing, output)
        release_counted()
        plan.close()
    return result


def _describe_metric(metric: Metric) -> str:
    """Return the settings of a metric, without addresses in memory."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(metric))


def _check_output(folder: Path) -> None:
    """Raise an InputError if the folder is not writable, or has scores of another run."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{folder} is a file; pass a folder for the scores of captions") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} is not writable; pass another folder for the scores")
    if any(folder.glob("part-*.parquet")):
        raise InputError(
            f"{folder} contains scores of an earlier run; remove them, or pass another folder"
        )


def _check_metrics(metrics: Mapping[str, Metric]) -> None:
    for label, metric in metrics.items():
        if metric.needs.all_candidates:
            raise SettingError(
                f"{label} is computed from all captions together, which streams do not support; "
                "remove it"
            )
        if metric.needs.all_references:
            raise SettingError(
                f"{label} weights words by all references together, which streams do not support; "
                "remove it, or disable its idf (-m NAME:idf=no)"
            )


def _run(
    plan: Plan,
    engine: Engine,
    pipeline: Pipeline,
    missing: Missing,
    output: Path | None,
) -> StreamResult:
    parts = split_progress(DURATIONS)
    with next(parts):
        plan, sides = plan.split(engine)
    check_ids(sides["candidates"], sides["references"])
    orders: dict[str | None, int] = {}
    if pipeline.frequencies == "references":
        for metric in pipeline.metrics.values():
            needed = metric.needs.frequencies
            if needed is not None:
                orders[needed.stemmer] = max(needed.order, orders.get(needed.stemmer, 1))
    shards = max(1, -(-sides["references"].captions // SHARD_CAPTIONS))
    with next(parts):
        summary, counts = scan_partitions(plan, engine, orders, pipeline.tokenizer, missing, shards)
    # Captions are checked by those of one partition.
    first = read_partition(plan.splits, summary.partitions[0])
    sample = Corpus(
        tuple(first.images),
        scan_captions(first.references),
        first.reference_offsets,
        scan_captions(first.candidates),
        first.candidate_images,
        [],
    )
    names = [found.source for found in plan.inputs]
    pipeline.check({names[0]: sample}, names[1], summary.images)
    files = {stemmer: plan.folder / f"{stemmer or 'words'}.df" for stemmer in orders}
    with next(parts):
        for stemmer, file in files.items():
            if not file.exists():
                found = merge_counts(
                    counts, summary, engine, stemmer, min_count=MIN_COUNT, name="stream"
                )
                found.save(file)
                del found
                _remove_counts(plan.folder / "count", stemmer)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    tasks = [
        ScoreTask(
            plan.splits,
            number,
            pipeline,
            files,
            summary.images,
            sides["candidates"].kinds == {"int"},
            plan.folder / "score",
            output,
        )
        for number in summary.partitions
    ]
    progress = StepProgress("scoring", "captions", int)
    with next(parts):
        scored = sum(progress.track(engine.map(score_partition, tasks), len(tasks)))
    table = _pool(tasks, summary, pipeline)
    written = [task.rows_file for task in tasks if task.rows_file is not None]
    for temporary in [] if output is None else output.glob(".part-*.part"):
        temporary.unlink(missing_ok=True)  # of killed processes
    return StreamResult(table, scored, written)


def _remove_counts(folder: Path, stemmer: str | None) -> None:
    """Remove the n-grams of partitions, which are merged."""
    for part in folder.glob(f"{stemmer or 'words'}-*"):
        shutil.rmtree(part)


def _pool(tasks: list[ScoreTask], summary: PartitionSummary, pipeline: Pipeline) -> ScoreTable:
    """Return the table of the summed partitions."""
    sums: dict[str, ExactSums] = {}
    groups: dict[str, Floats] = {}
    sources: dict[str, str] = {}
    for task in tasks:
        content = json.loads(task.sums_file.read_text())
        sources = content["sources"]
        for label, found in content["sums"].items():
            here = ExactSums.from_dict(found)
            sums[label] = sums[label] + here if label in sums else here
        with np.load(task.sums_file.with_suffix(".npz")) as arrays:
            for label in content["sums"]:
                wide = arrays[label]
                if label not in groups:
                    groups[label] = np.zeros((1 << GROUP_BITS, wide.shape[1]))
                groups[label][arrays["groups"]] = wide  # a group is in one partition only
    drawn = {label: rows[rows[:, -1] > 0] for label, rows in groups.items()}
    return ScoreTable(
        ids=[],
        image_count=summary.images,
        corpus={
            label: float(
                metric.pool(
                    sums[sources[label]].round(), np.asarray(float(sums[sources[label]].count))
                )
            )
            for label, metric in pipeline.metrics.items()
        },
        each={},
        signatures=pipeline.sign(summary.images, summary.sizes),
        resampling={
            label: Resampling(
                drawn[sources[label]],
                partial(pool_counted, metric),
                lower_is_better=metric.lower_is_better,
                has_range=all(map(math.isfinite, metric.range)),
            )
            for label, metric in pipeline.metrics.items()
        },
    )
