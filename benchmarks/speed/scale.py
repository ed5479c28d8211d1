"""Streams of any size: seconds and memory, against scoring in memory and other tools.

Captions are made by recombining COCO's. An image takes the captions of one image of val2014, drawn
at random. Half of its references are kept; the others, and the candidate, are cut at a random word
and go on as another caption, drawn from all that have the same word: "a man riding a | bench in a
park". So words and pairs of words have COCO's frequencies, while longer n-grams keep being new, as
they are in captions of other images. Each file has a seed of its own: sizes share their images.

    python benchmarks/run.py scale --sizes 100000 1000000  # 10000000 for the whole
    python benchmarks/run.py scale --sizes 100000 --peers 20000  # datasets.map, Ray Data
    python benchmarks/run.py scale --ray spice  # one and two workers, from Parquet;
                                                               # or consensus, or cider-d
    python benchmarks/run.py scale --steps 1000000  # CPU of each step, for schedule.py
    python benchmarks/run.py scale --sizes 100000 10000000 --results runs.json  # keeps runs there,
                                                               # and not made again

Every run is a process of its own. Its memory is the most that it and its helpers held together,
counted by what is not shared (PSS), sampled ten times a second. Times are given as CPU seconds too:
a busy machine makes wall times long.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import workloads

METRICS = ["cider-d", "bleu-4", "rouge-l"]
ROWS = 100_000
"""Captions per file."""
RAY = {"consensus": 4000, "spice": 9000, "cider-d": 1_000_000}
"""Captions that Ray scores: half a minute to a minute of one core each."""
FEW = 600
"""Captions that warm workers up: enough for each of them to get some."""
SLICES = 4096
"""Partitions that make the opening of their slices a good part of merging."""
PARTITIONS = {"consensus": 64, "spice": 64}
"""Tasks, where inputs are too small to be cut by themselves."""


def make(count: int, folder: Path) -> None:
    """Write candidates and references of so many images, unless they are there."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    captions = [[c.split() for c in group] for group in workloads.coco("val2014").values()]
    flat = [words for group in captions for words in group]
    places: dict[str, list[tuple[int, int]]] = {}
    for number, words in enumerate(flat):
        for at in range(2, len(words) - 1):
            places.setdefault(words[at], []).append((number, at))

    def recombine(words: list[str], rng: Any) -> str:
        if len(words) < 4:
            return " ".join(words)
        at = 2 + int(rng.random() * (len(words) - 3))
        others = places.get(words[at], [(0, len(flat[0]))])
        number, other = others[int(rng.random() * len(others))]
        return " ".join(words[:at] + flat[number][other:])

    for begin in range(0, count, ROWS):
        sides = {
            side: folder / side / f"{begin // ROWS:05}.parquet"
            for side in ("candidates", "references")
        }
        end = min(begin + ROWS, count)
        if all(
            path.exists() and pq.read_metadata(path).num_rows == end - begin
            for path in sides.values()
        ):
            continue
        rng = np.random.default_rng([7, begin])
        ids = list(range(begin, end))
        candidates, references = [], []
        for _ in ids:
            group = captions[int(rng.random() * len(captions))]
            candidates.append(recombine(group[int(rng.random() * len(group))], rng))
            references.append(
                [
                    recombine(words, rng) if number % 2 else " ".join(words)
                    for number, words in enumerate(group[:5])
                ]
            )
        for side, name, column in (
            ("candidates", "caption", candidates),
            ("references", "references", references),
        ):
            sides[side].parent.mkdir(parents=True, exist_ok=True)
            table = pa.table({"image_id": ids, name: column})
            pq.write_table(table, sides[side], row_group_size=20_000)


def list_files(folder: Path, side: str, count: int) -> list[Path]:
    return sorted((folder / side).glob("*.parquet"))[: -(-count // ROWS)]


class Memory:
    """Samples what a process and all its children hold, in megabytes."""

    def __init__(self, process: int) -> None:
        self.most = 0.0
        self._process = process
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            self.most = max(self.most, sum(map(self._hold, self._family(self._process))))

    def _family(self, process: int) -> list[int]:
        try:
            listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        except OSError:
            return [process]
        return [process, *(each for child in listed for each in self._family(int(child)))]

    def _hold(self, process: int) -> float:
        """Return what a process holds, without pages of files that the system may drop."""
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            return 0.0
        found = dict(line.split(":") for line in lines[1:] if ":" in line)
        return int(found["Pss"].split()[0]) / 1024

    def stop(self) -> float:
        """Return the most that was held."""
        self._stop.set()
        self._thread.join()
        return self.most


def run(*arguments: object, watched: bool = True) -> dict[str, float]:
    """Run one side in a process of its own; return its seconds, CPU seconds and megabytes.

    To watch the memory of a dozen processes takes a good part of a core: where workers are
    compared, it is not watched.
    """
    command = [sys.executable, __file__, "--one", *map(str, arguments)]
    # Scene graphs cached by another run would skip the work.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "CIDERY_CACHE": cache}
        process = subprocess.Popen(command, stdout=output, env=environment)
        memory = Memory(process.pid) if watched else None
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        most = memory.stop() if memory is not None else 0.0
        output.seek(0)
        if process.returncode:
            sys.exit(f"{command} failed")
        measured: dict[str, float] = json.loads(output.read().splitlines()[-1])
    return {
        **measured,
        "cpu": usage.ru_utime + usage.ru_stime - measured.get("before", 0.0),
        "mb": most,
    }


def one(kind: str, folder: str, count: str, *others: str) -> None:
    """Do one side's work."""
    from cidery.engines import get_engine

    size = int(count)
    files = {side: list_files(Path(folder), side, size) for side in ("candidates", "references")}
    before = 0.0
    start = time.perf_counter()
    if kind == "stream":
        engine = get_engine("local", processes=int(others[0]))
        measured = _stream(files, Path(folder), engine, METRICS)
    elif kind == "memory":
        candidates, references = _read(files, size)
        before = time.process_time()
        start = time.perf_counter()
        measured = _memory(candidates, references, int(others[0]))
    elif kind in ("ray", "alone"):
        engine = _start_ray(int(others[1])) if kind == "ray" else get_engine("local", processes=1)
        measured = _warm(files, Path(folder), size, others[0], engine)
        before = measured.pop("cpu")
        start = measured.pop("start")
    else:
        measured = {"datasets": _datasets, "raydata": _ray_data}[kind](files, size)
    measured |= {"seconds": time.perf_counter() - start, "before": before}
    print(json.dumps(measured))


def _start_ray(workers: int) -> Any:
    import ray

    from cidery.engines import get_engine

    ray.init(address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False)
    return get_engine("ray")


def _warm(
    files: dict[str, list[Path]], folder: Path, size: int, metric: str, engine: Any
) -> dict[str, Any]:
    """Score by one metric with workers that have loaded what they need."""
    with tempfile.TemporaryDirectory(dir=folder) as taken:
        for count in (FEW, size):  # the first ones have each worker load a parser or a model
            parts = {
                side: [_take_rows(paths, count, Path(taken, f"{side}-{count}.parquet"))]
                for side, paths in files.items()
            }
            measured = {"cpu": time.process_time(), "start": time.perf_counter()}
            measured |= _stream(parts, folder, engine, [metric], partitions=PARTITIONS.get(metric))
    return measured


def _take_rows(paths: list[Path], count: int, file: Path) -> Path:
    import pyarrow.parquet as pq

    table = pq.read_table([str(path) for path in paths]).slice(0, count)
    pq.write_table(table, file, row_group_size=20_000)
    return file


def _stream(
    files: dict[str, list[Path]],
    folder: Path,
    engine: Any,
    metrics: list[str],
    partitions: int | None = None,
) -> dict[str, Any]:
    from cidery.engines import score_stream

    with tempfile.TemporaryDirectory(dir=folder) as work:
        links = {}
        for side, paths in files.items():  # a folder of just these files
            links[side] = Path(work, side)
            links[side].mkdir()
            for path in paths:
                (links[side] / path.name).symlink_to(path.resolve())
        result = score_stream(
            str(links["candidates"]),
            str(links["references"]),
            metrics,
            captions=Path(work, "scores"),
            work=Path(work, "work"),
            engine=engine,
            partitions=partitions,
        )
    return {"corpus": dict(result.table.corpus)}


def show_steps(size: int, folder: Path) -> None:
    """Print the CPU seconds that each step takes per million captions, in one process."""
    from cidery.engines.counting import SHARD_CAPTIONS

    make(size, folder)
    few = size // 50
    usual, narrow = (_time_steps(size, folder, METRICS, number) for number in (None, SLICES))
    shards = -(-size * 5 // SHARD_CAPTIONS)
    opening = (narrow["merge"] - usual["merge"]) / (shards * SLICES)
    meteor = _time_steps(few, folder, ["meteor"], None)
    print(f"CPU seconds per million captions, one process, {size:,} captions:\n")
    for step, seconds in usual.items():
        print(f"- {step}: {seconds / size * 1e6:.1f}")
    print(f"- score by METEOR, {few:,} captions: {meteor['score'] / few * 1e6:.0f}")
    print(f"\nTo open a slice of a shard takes {opening * 1e6:.0f} µs ({SLICES:,} partitions).")


def _time_steps(
    size: int, folder: Path, metrics: list[str], partitions: int | None
) -> dict[str, float]:
    """Return the CPU seconds of each step of a stream."""
    from cidery.engines import LocalEngine

    steps = dict.fromkeys(("split", "count", "merge", "score"), 0.0)

    class Timed(LocalEngine):
        def map(self, function: Any, tasks: Any) -> Any:
            step = function.__name__.strip("_").removesuffix("_partition")
            for task in tasks:
                start = time.process_time()
                done = function(task)
                steps[step] += time.process_time() - start
                yield done

    files = {side: list_files(folder, side, size) for side in ("candidates", "references")}
    with tempfile.TemporaryDirectory(dir=folder) as taken:
        parts = {
            side: [_take_rows(paths, size, Path(taken, f"{side}.parquet"))]
            for side, paths in files.items()
        }
        start = time.process_time()
        _stream(parts, folder, Timed(processes=1), metrics, partitions)
        rest = time.process_time() - start - sum(steps.values())
    return {**steps, "put together, and all else that one process does": rest}


def _read(files: dict[str, list[Path]], size: int) -> tuple[dict[int, str], dict[int, list[str]]]:
    import pyarrow.parquet as pq

    sides = [pq.read_table([str(p) for p in paths]).slice(0, size) for paths in files.values()]
    pairs = [dict(zip(*(c.to_pylist() for c in table.columns), strict=True)) for table in sides]
    return pairs[0], pairs[1]


def _memory(
    candidates: dict[int, str], references: dict[int, list[str]], threads: int
) -> dict[str, Any]:
    import cidery

    return {"corpus": dict(cidery.score(candidates, references, METRICS, threads=threads).corpus)}


def _peer(batch: dict[str, Any]) -> dict[str, Any]:
    """Score a batch with pycocoevalcap, captions cut at blanks: no JVM is started per batch.

    Its CIDEr counts document frequencies on the batch, so its numbers are those of no corpus.
    """
    import contextlib
    import io

    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    ids = [int(i) for i in batch["image_id"]]
    measured = {
        i: [" ".join(t.lower().split()) for t in g]
        for i, g in zip(ids, batch["references"], strict=True)
    }
    said = {i: [c.lower()] for i, c in zip(ids, batch["caption"], strict=True)}
    with contextlib.redirect_stdout(io.StringIO()):
        cider = Cider().compute_score(measured, said)[1]
        rouge = Rouge().compute_score(measured, said)[1]
        bleu = Bleu(4).compute_score(measured, said, verbose=0)[1][3]
    return {"image_id": ids, "cider": list(cider), "rouge": list(rouge), "bleu": list(bleu)}


def _datasets(files: dict[str, list[Path]], size: int) -> dict[str, Any]:
    import datasets

    candidates, references = _read(files, size)
    rows = {
        "image_id": list(candidates),
        "caption": list(candidates.values()),
        "references": list(references.values()),
    }
    loaded = datasets.Dataset.from_dict(rows)
    found = loaded.map(
        _peer, batched=True, batch_size=5000, num_proc=2, remove_columns=["caption", "references"]
    )
    return {"rows": len(found)}


def _ray_data(files: dict[str, list[Path]], size: int) -> dict[str, Any]:
    import pyarrow as pa
    import ray

    candidates, references = _read(files, size)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    table = pa.table(
        {
            "image_id": list(candidates),
            "caption": list(candidates.values()),
            "references": list(references.values()),
        }
    )
    loaded = ray.data.from_arrow(table).repartition(max(2, size // 5000))
    found = loaded.map_batches(_peer, batch_size=5000)
    return {"rows": sum(len(batch["cider"]) for batch in found.iter_batches())}


def compare_workers(metric: str, folder: Path) -> None:
    """Print how much faster two Ray workers are than one; starting them is not counted.

    Beside it, how much more two processes without Ray, which share nothing, do than one: what the
    machine's two cores give at most.
    """
    size = RAY[metric]
    make(max(size, ROWS), folder)
    unseen = partial(run, watched=False)
    runs = {workers: unseen("ray", folder, size, metric, workers) for workers in (1, 2)}
    times = {workers: found["seconds"] for workers, found in runs.items()}
    same = runs[1]["corpus"] == runs[2]["corpus"]
    print(
        f"{metric}, {size:,} captions: one Ray worker {times[1]:.1f} s, two {times[2]:.1f} s, "
        f"{times[1] / times[2]:.2f} x; the same scores: {same}.",
        flush=True,
    )
    alone = unseen("alone", folder, size, metric)["seconds"]
    with ThreadPoolExecutor(2) as threads:
        begun = [threads.submit(unseen, "alone", folder, size, metric) for _ in range(2)]
        both = max(each.result()["seconds"] for each in begun)
    print(
        f"Without Ray one process takes {alone:.1f} s, two that each do all of it {both:.1f} s: "
        f"two cores do {2 * alone / both:.2f} x the work of one."
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--peers", type=int, default=0, help="images that the peers score; 0: none")
    parser.add_argument(
        "--ray", choices=RAY, help="only this: one and two Ray workers, by this metric"
    )
    parser.add_argument("--steps", type=int, help="only this: the CPU of each step, so many images")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "cidery-scale"))
    parser.add_argument("--results", type=Path, help="a JSON file that keeps the runs")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(*options.one)
        return
    if options.ray:
        compare_workers(options.ray, options.folder)
        return
    if options.steps:
        show_steps(options.steps, options.folder)
        return
    begun = time.time()
    make(max(options.sizes), options.folder)
    print(f"captions are in {options.folder} ({time.time() - begun:.0f} s)\n", flush=True)
    print("| captions | how | workers | wall | CPU | captions per CPU second | memory |")
    print("|---:|---|---:|---:|---:|---:|---:|", flush=True)

    def show(size: int, how: str, workers: int, found: dict[str, float]) -> None:
        cpu = f"{found['cpu']:.1f} s | {size / found['cpu']:,.0f}"
        if how.endswith("Ray Data"):  # its workers are not this process's children
            cpu = "not seen |"
        print(
            f"| {size:,} | {how} | {workers} | {found['seconds']:.1f} s | {cpu} | "
            f"{found['mb']:.0f} MB |",
            flush=True,
        )

    kept: dict[str, dict[str, float]] = {}
    if options.results and options.results.exists():
        kept = json.loads(options.results.read_text())

    def run_once(kind: str, size: int, *others: object) -> dict[str, float]:
        """Run, unless an earlier call did."""
        name = " ".join(map(str, (kind, size, *others)))
        if name not in kept:
            kept[name] = run(kind, options.folder, size, *others)
            if options.results:
                options.results.write_text(json.dumps(kept, indent=1))
        return kept[name]

    smallest = min(options.sizes)
    memory = run_once("memory", smallest, 1)
    show(smallest, "in memory", 1, memory)
    streams = {}
    for size in options.sizes:
        streams[size] = run_once("stream", size, options.workers)
        show(size, "stream", options.workers, streams[size])
    same = memory["corpus"] == streams[smallest]["corpus"]
    print(f"\nThe same scores: {same}.")
    for size, found in streams.items():
        share = memory["cpu"] / smallest / (found["cpu"] / size)
        print(f"A stream of {size:,} scores {share:.0%} as many captions per CPU second as memory.")
    for size in sorted(options.sizes)[1:]:
        growth = streams[size]["cpu"] / streams[smallest]["cpu"] / (size / smallest)
        print(f"{size:,} captions take {growth:.2f} x the CPU of {smallest:,}, in proportion.")
    if options.peers:
        for kind, name in (("datasets", "datasets.map"), ("raydata", "Ray Data")):
            show(
                options.peers,
                f"pycocoevalcap by {name}",
                2,
                run(kind, options.folder, options.peers),
            )


if __name__ == "__main__":
    main()
