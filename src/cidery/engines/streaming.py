"""score_stream(): captions that need not fit in memory, scored in two passes.

First n-grams are counted, partition by partition; then each partition is scored with the counts of
all. Captions have the bits that `score` gives them, and so has the corpus: sums are exact, whatever
the partitions are.
"""

from __future__ import annotations

import json
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
    Looked,
    check_tokenizer,
    choose_folder,
    forget_counted,
    load_counted,
    look,
    merge_counts,
)
from cidery.engines.plan import MANIFEST, Input, Plan, Progress, check_ids, locked
from cidery.engines.results import StreamResult
from cidery.engines.spill import GROUP_BITS, Origins, Partition, Split, gather, replacing
from cidery.errors import CideryError, InputError, SettingError, UnreliableWarning
from cidery.files.containers import import_pyarrow
from cidery.files.fields import Side
from cidery.frequencies import CountedFrequencies, DocumentFrequencies
from cidery.metrics import Metric
from cidery.metrics.base import GroupedCaptions, TokenizedCandidates, TokenizedReferences
from cidery.scoring.pipeline import Pipeline, PipelineLike, PipelineSettings
from cidery.scoring.scorer import pool_counted, sum_images
from cidery.scoring.tables import Resampling, ScoreTable
from cidery.statistics import ExactSums, Floats, sum_by_group
from cidery.storage import write_atomically
from cidery.text import scan_captions

if TYPE_CHECKING:
    from typing_extensions import Unpack

ENOUGH = 2
"""N-grams of fewer images weigh as much as those of none: log max(1, df). They are not kept."""


@dataclass(frozen=True)
class Score:
    """Scores one partition."""

    splits: list[Split]
    number: int
    pipeline: Pipeline
    counted: Mapping[str | None, Path]
    """stemmer -> document frequencies counted on all partitions"""
    images: int
    """In all partitions."""
    is_number: bool
    """Whether the candidates' ids are integers."""
    folder: Path
    captions: Path | None

    @property
    def rows_file(self) -> Path | None:
        """Where the scores of captions go."""
        return self.captions and self.captions / f"part-{self.number:06}.parquet"

    @property
    def sums_file(self) -> Path:
        """Where the sums go; written last, it says that the partition is done."""
        return self.folder / f"{self.number:06}.json"

    @property
    def is_done(self) -> bool:
        """Whether an earlier run did this."""
        return self.sums_file.exists() and (self.rows_file is None or self.rows_file.exists())


def score_partition(task: Score) -> int:
    """Write one partition's scores and sums; return how many captions it has."""
    if task.is_done:
        return int(json.loads(task.sums_file.read_text())["captions"])
    partition = gather(task.splits, task.number)
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
            raise _find_culprit(task.pipeline, partition, frequencies, error) from error
    if task.rows_file is not None:
        _write_rows(task, task.rows_file, partition, measured)
    _write_sums(task, partition, measured)
    return len(partition.candidates)


def _measure(
    pipeline: Pipeline,
    partition: Partition,
    frequencies: str | DocumentFrequencies | CountedFrequencies,
) -> dict[str, Floats]:
    """Return each metric's rows, as `score` has them."""
    tokenize = pipeline.tokenizer.cut_column
    offsets = partition.reference_offsets.astype(np.uint64)
    groups = GroupedCaptions(tokenize(partition.references, 1), offsets)
    references = TokenizedReferences(groups, pipeline.tokenizer, frequencies, partition.images)
    images = partition.candidate_images.astype(np.uint32)
    candidates = TokenizedCandidates(tokenize(partition.candidates, 1), images)
    return pipeline.prepare_tokenized(references).measure_tokenized(candidates)


def _find_culprit(
    pipeline: Pipeline,
    partition: Partition,
    frequencies: str | DocumentFrequencies | CountedFrequencies,
    error: Exception,
) -> Exception:
    """Return the error that names the first caption which cannot be scored."""
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
    task: Score, file: Path, partition: Partition, measured: Mapping[str, Floats]
) -> None:
    pa = import_pyarrow("pyarrow", "write Parquet files")
    parquet = import_pyarrow("pyarrow.parquet", "write Parquet files")
    ids = pa.array(partition.images, pa.string()).take(pa.array(partition.candidate_images))
    table = pa.table(
        {
            "image_id": ids.cast(pa.int64()) if task.is_number else ids,
            "file": _name_files(partition.origins),
            "row": pa.array(partition.origins.rows),
            **{label: m.each(measured[label]) for label, m in task.pipeline.metrics.items()},
        }
    )
    with replacing(file) as temporary:
        parquet.write_table(table, str(temporary))


def _name_files(origins: Origins) -> Any:
    pa = import_pyarrow("pyarrow", "write Parquet files")
    files = list(dict.fromkeys(piece.file for piece in origins.pieces))
    number = {file: place for place, file in enumerate(files)}
    of_piece = np.asarray([number[piece.file] for piece in origins.pieces], np.int32)
    return pa.DictionaryArray.from_arrays(of_piece[origins.places], pa.array(files))


def _write_sums(task: Score, partition: Partition, measured: Mapping[str, Floats]) -> None:
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
    """Score captions that need not fit in memory, with the bits of `score`.

    Args:
        candidates: a Parquet, Arrow or JSON-lines file, a folder, a pattern such as
            `"samples/*.parquet"`, or a URL that fsspec opens, such as `"s3://bucket/samples"`.
        references: the same.
        metrics: as `score` takes them.
        captions: a folder that gets every caption's scores as Parquet files, one per partition,
            while it runs; one that has such files of another run is refused.
        missing: as `score` takes it.
        caption_field: the column of the captions to score; by default a well-known one.
        reference_field: the column of the references.
        id_field: the column that names the image.
        reference_id_field: the same of the references, where it is another.
        engine: `"local"` (processes of this machine), `"ray"`, or an Engine.
        work: the folder for what is begun, with room for a copy of the captions; the same call
            goes on there after it was stopped. It is removed at the end. By default a folder
            `cidery-work-…` in the present one.
        partitions: how many parts there are, a power of two; by default as the inputs' size asks
            for. Scores do not depend on it.
        settings: as `score` takes them, but for the tokenizer `"ptb-coco"`, which reads all
            captions as one document. The engine sets the number of threads.

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
        Input.find(given, side, captions_in, ids_in, [work, captions])
        for given, side, captions_in, ids_in in sides
    ]
    output = None if captions is None else Path(captions).absolute()
    frequencies = pipeline.frequencies
    key = {
        # In their order, which is that of the columns, and of what metrics with equal rows share.
        "metrics": [[label, _describe_metric(m)] for label, m in pipeline.metrics.items()],
        "tokenizer": [pipeline.tokenizer.id, pipeline.language],
        "frequencies": frequencies if isinstance(frequencies, str) else frequencies.name,
        "missing": missing,
        "captions": None if output is None else str(output),
    }
    folder = choose_folder(work, inputs, key)
    with locked(folder):
        if output is not None and not (folder / MANIFEST).exists():
            _check_output(output)
        content = describe_content(pipeline.metrics, pipeline.tokenizer, pipeline.frequencies)
        plan = Plan.open(inputs, key, content, folder, partitions)
        result = _run(plan, runner, pipeline, missing, output)
        forget_counted()
        plan.close()
    return result


def _describe_metric(metric: Metric) -> str:
    """Return what tells metrics apart, in another process too: without addresses in memory."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(metric))


def _check_output(folder: Path) -> None:
    """Refuse a folder that cannot be written, or in which parts of another run would stay."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{folder} is a file; name a folder for the captions' scores") from None
    if not os.access(folder, os.W_OK):
        raise InputError(f"{folder} cannot be written; name another folder for the scores")
    if any(folder.glob("part-*.parquet")):
        raise InputError(
            f"{folder} has scores of an earlier run; remove them, or name another folder"
        )


def _check_metrics(metrics: Mapping[str, Metric]) -> None:
    for label, metric in metrics.items():
        if metric.needs.all_candidates:
            raise SettingError(
                f"{label} is of all captions together, of which a stream sees parts; leave it out"
            )
        if metric.needs.all_references:
            raise SettingError(
                f"{label} weighs words by all references together, of which a stream sees parts; "
                "leave it out, or turn its idf off (-m NAME:idf=no)"
            )


def _run(
    plan: Plan,
    engine: Engine,
    pipeline: Pipeline,
    missing: Missing,
    output: Path | None,
) -> StreamResult:
    plan, sides = plan.split(engine, Progress("reading captions"))
    check_ids(sides["candidates"], sides["references"])
    orders: dict[str | None, int] = {}
    if pipeline.frequencies == "references":
        for metric in pipeline.metrics.values():
            needed = metric.needs.frequencies
            if needed is not None:
                orders[needed.stemmer] = max(needed.order, orders.get(needed.stemmer, 1))
    shards = max(1, -(-sides["references"].captions // SHARD_CAPTIONS))
    looked, counts = look(plan, engine, orders, pipeline.tokenizer, missing, shards)
    # Captions are checked by those of one partition.
    first = gather(plan.splits, looked.partitions[0])
    sample = Corpus(
        tuple(first.images),
        scan_captions(first.references),
        first.reference_offsets,
        scan_captions(first.candidates),
        first.candidate_images,
        [],
    )
    names = [found.given for found in plan.inputs]
    pipeline.check({names[0]: sample}, names[1], looked.images)
    files = {stemmer: plan.folder / f"{stemmer or 'words'}.df" for stemmer in orders}
    for stemmer, file in files.items():
        if not file.exists():
            found = merge_counts(counts, looked, engine, stemmer, min_count=ENOUGH, name="stream")
            found.save(file)
            del found
            _remove_counts(plan.folder / "count", stemmer)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
    tasks = [
        Score(
            plan.splits,
            number,
            pipeline,
            files,
            looked.images,
            sides["candidates"].kinds == {"int"},
            plan.folder / "score",
            output,
        )
        for number in looked.partitions
    ]
    progress = Progress("scoring", "captions", int)
    scored = sum(progress.follow(engine.map(score_partition, tasks), len(tasks)))
    table = _pool(tasks, looked, pipeline)
    written = [task.rows_file for task in tasks if task.rows_file is not None]
    for half in [] if output is None else output.glob(".part-*.part"):
        half.unlink(missing_ok=True)  # of processes that were killed
    return StreamResult(table, scored, written)


def _remove_counts(folder: Path, stemmer: str | None) -> None:
    """Make room: the merged file has all that is needed of the parts."""
    for part in folder.glob(f"{stemmer or 'words'}-*"):
        shutil.rmtree(part)


def _pool(tasks: list[Score], looked: Looked, pipeline: Pipeline) -> ScoreTable:
    """Add up what the partitions wrote."""
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
        image_count=looked.images,
        corpus={
            label: float(
                metric.pool(
                    sums[sources[label]].round(), np.asarray(float(sums[sources[label]].count))
                )
            )
            for label, metric in pipeline.metrics.items()
        },
        each={},
        signatures=pipeline.sign(looked.images, looked.sizes),
        resampling={
            label: Resampling(
                drawn[sources[label]],
                partial(pool_counted, metric),
                lower_is_better=metric.lower_is_better,
            )
            for label, metric in pipeline.metrics.items()
        },
    )
