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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cidery.corpus import Corpus, Missing
from cidery.engines.base import Engine, EngineLike, get_engine
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
from cidery.metrics import Metric, MetricsLike, get_metrics
from cidery.metrics.base import (
    Faithful,
    GroupedCaptions,
    TokenizedCandidates,
    TokenizedReferences,
)
from cidery.scoring.scorer import (
    FrequenciesLike,
    Scorer,
    find_english,
    pool_counted,
    read_frequencies,
    sign,
    sum_images,
    warn_few_images,
)
from cidery.scoring.tables import Resampling, ScoreTable
from cidery.statistics import ExactSums, Floats, sum_by_group
from cidery.storage import write_atomically
from cidery.text import Tokenizer, TokenizerLike, choose_tokenizer, warn_script_problems

ENOUGH = 2
"""N-grams of fewer images weigh as much as those of none: log max(1, df). They are not kept."""


@dataclass(frozen=True)
class Score:
    """Scores one partition."""

    splits: list[Split]
    number: int
    metrics: Mapping[str, Metric]
    tokenizer: Tokenizer
    frequencies: str | DocumentFrequencies | None
    """None: those that were counted."""
    counted: Mapping[str | None, Path]
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
        load_counted(task.counted, task.images) if task.frequencies is None else task.frequencies
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableWarning)  # the plan has told of it
        try:
            measured = _measure(task, partition, frequencies)
        except Exception as error:
            raise _find_culprit(task, partition, frequencies, error) from error
    if task.rows_file is not None:
        _write_rows(task, task.rows_file, partition, measured)
    _write_sums(task, partition, measured)
    return len(partition.candidates)


def _measure(
    task: Score, partition: Partition, frequencies: str | DocumentFrequencies | CountedFrequencies
) -> dict[str, Floats]:
    """Return each metric's rows, as `score` has them."""
    cut = task.tokenizer.cut_column
    offsets = partition.reference_offsets.astype(np.uint64)
    groups = GroupedCaptions(cut(partition.references, 1), offsets)
    references = TokenizedReferences(groups, task.tokenizer, frequencies, partition.images)
    images = partition.candidate_images.astype(np.uint32)
    candidates = TokenizedCandidates(cut(partition.candidates, 1), images)
    return Scorer.prepare(references, task.metrics, 1).measure_tokenized(candidates)


def _find_culprit(
    task: Score,
    partition: Partition,
    frequencies: str | DocumentFrequencies | CountedFrequencies,
    error: Exception,
) -> Exception:
    """Return the error that names the first caption which cannot be scored."""
    ends = partition.reference_offsets.tolist()
    for row, place in enumerate(partition.candidate_images.tolist()):
        image = partition.images[place]
        told = {image: partition.references[ends[place] : ends[place + 1]]}
        corpus = Corpus.build({image: partition.candidates[row]}, told)
        try:
            scorer = Scorer.build(
                corpus, task.metrics, tokenizer=task.tokenizer, frequencies=frequencies, threads=1
            )
            scorer.measure(corpus.candidates, corpus.candidate_images)
        except Exception as cause:
            said = str(cause) or type(cause).__name__
            kind = type(cause) if isinstance(cause, CideryError) else InputError
            where = partition.origins[row]
            return kind(f"{where} (image {image!r}): cannot be scored: {said}")
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
            **{label: m.each(measured[label]) for label, m in task.metrics.items()},
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
    metrics: MetricsLike = None,
    *,
    preset: str | None = None,
    captions: str | Path | None = None,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    frequencies: FrequenciesLike = "references",
    faithful: Faithful | None = None,
    missing: Missing = "error",
    caption_field: str | None = None,
    reference_field: str | None = None,
    id_field: str | None = None,
    reference_id_field: str | None = None,
    engine: EngineLike = "local",
    work: str | Path | None = None,
    partitions: int | None = None,
) -> StreamResult:
    """Score captions that need not fit in memory, with the bits of `score`.

    Args:
        candidates: a Parquet, Arrow or JSON-lines file, a folder, a pattern such as
            `"samples/*.parquet"`, or a URL that fsspec opens, such as `"s3://bucket/samples"`.
        references: the same.
        metrics: as `score` takes them.
        preset: as `score` takes it.
        captions: a folder that gets every caption's scores as Parquet files, one per partition,
            while it runs; one that has such files of another run is refused.
        tokenizer: as `score` takes it, but not `"ptb-coco"`.
        language: as `score` takes it.
        frequencies: as `score` takes them.
        faithful: as `score` takes it.
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

    ```py
    result = cidery.score_stream("samples/*.parquet", "references.parquet", captions="scores")
    result.table.corpus["cider-d"]
    ```
    """
    chosen = get_metrics(metrics, faithful, language, preset)
    _check_metrics(chosen)
    cut = choose_tokenizer(tokenizer, language)
    check_tokenizer(cut)
    weighed = read_frequencies(frequencies)
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
    settings = {
        # In their order, which is that of the columns, and of what metrics with equal rows share.
        "metrics": [[label, _describe_metric(metric)] for label, metric in chosen.items()],
        "tokenizer": [cut.id, cut.language],
        "frequencies": weighed if isinstance(weighed, str) else weighed.fingerprint,
        "missing": missing,
        "captions": None if output is None else str(output),
    }
    folder = choose_folder(work, inputs, settings)
    with locked(folder):
        if output is not None and not (folder / MANIFEST).exists():
            _check_output(output)
        plan = Plan.open(inputs, settings, folder, partitions)
        result = _run(plan, runner, chosen, cut, weighed, missing, output)
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
        if metric.describes_corpus:
            raise SettingError(
                f"{label} is of all captions together, of which a stream sees parts; leave it out"
            )
        if metric.needs_all_references:
            raise SettingError(
                f"{label} weighs words by all references together, of which a stream sees parts; "
                "leave it out, or turn its idf off (-m NAME:idf=no)"
            )


def _run(
    plan: Plan,
    engine: Engine,
    metrics: Mapping[str, Metric],
    tokenizer: Tokenizer,
    frequencies: str | DocumentFrequencies,
    missing: Missing,
    output: Path | None,
) -> StreamResult:
    plan, sides = plan.split(engine, Progress("reading captions"))
    check_ids(sides["candidates"], sides["references"])
    orders: dict[str | None, int] = {}
    if frequencies == "references":
        for metric in metrics.values():
            if metric.uses_frequencies:
                order: int = getattr(metric, "n", 1)
                orders[metric.stems] = max(order, orders.get(metric.stems, 1))
    shards = max(1, -(-sides["references"].captions // SHARD_CAPTIONS))
    looked, counts = look(plan, engine, orders, tokenizer, missing, shards)
    _warn(plan, looked, metrics, tokenizer, frequencies)
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
            metrics,
            tokenizer,
            None if frequencies == "references" else frequencies,
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
    table = _pool(tasks, looked, metrics, tokenizer, frequencies)
    written = [task.rows_file for task in tasks if task.rows_file is not None]
    for half in [] if output is None else output.glob(".part-*.part"):
        half.unlink(missing_ok=True)  # of processes that were killed
    return StreamResult(table, scored, written)


def _remove_counts(folder: Path, stemmer: str | None) -> None:
    """Make room: the merged file has all that is needed of the parts."""
    for part in folder.glob(f"{stemmer or 'words'}-*"):
        shutil.rmtree(part)


def _warn(
    plan: Plan,
    looked: Looked,
    metrics: Mapping[str, Metric],
    tokenizer: Tokenizer,
    frequencies: str | DocumentFrequencies,
) -> None:
    """Warn as `score` does; of how captions are written, by those of one partition."""
    first = gather(plan.splits, looked.partitions[0])
    texts = {
        plan.inputs[0].given: first.candidates,
        plan.inputs[1].given: first.references,
    }
    warn_script_problems(texts, tokenizer, find_english(metrics, frequencies))
    warn_few_images(metrics, _stand_in(looked, tokenizer, frequencies), stacklevel=4)


def _stand_in(
    looked: Looked, tokenizer: Tokenizer, frequencies: str | DocumentFrequencies
) -> TokenizedReferences:
    """Return what a signature must know of the references, without them."""
    nothing = GroupedCaptions(tokenizer([""], 1), np.asarray([0, 1], np.uint64))
    counted = CountedFrequencies({}, looked.images) if frequencies == "references" else frequencies
    return TokenizedReferences(nothing, tokenizer, counted)


def _pool(
    tasks: list[Score],
    looked: Looked,
    metrics: Mapping[str, Metric],
    tokenizer: Tokenizer,
    frequencies: str | DocumentFrequencies,
) -> ScoreTable:
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
    references = _stand_in(looked, tokenizer, frequencies)
    return ScoreTable(
        ids=[],
        image_count=looked.images,
        corpus={
            label: float(
                metric.pool(
                    sums[sources[label]].round(), np.asarray(float(sums[sources[label]].count))
                )
            )
            for label, metric in metrics.items()
        },
        each={},
        signatures={
            label: str(sign(metric, references, looked.sizes)) for label, metric in metrics.items()
        },
        resampling={
            label: Resampling(
                drawn[sources[label]],
                partial(pool_counted, metric),
                lower_is_better=metric.lower_is_better,
            )
            for label, metric in metrics.items()
        },
    )
