"""Compare the native METEOR with the original: the golden files, and live against the jar.

    python tests/check_meteor.py golden CLI TABLE GOLDEN_FOLDER
    python tests/check_meteor.py live CLI TABLE PARAPHRASES.gz COUNT SEED CAPTIONS.json...

CLI is the compiled tests/native/meteor_cli.cpp, TABLE a table that it built. CAPTIONS are files in
COCO's annotation format. Any difference is printed and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from Stemmer import Stemmer

import meteor_jar
from meteor_segments import Segment, SegmentMaker

SHOWN = 5


def normalise(cli: Path, table: Path, lines: Sequence[str]) -> list[str]:
    question = "".join(line + "\n" for line in lines).encode()
    done = subprocess.run(
        [cli, "normalise", table], input=question, stdout=subprocess.PIPE, check=True
    )
    return done.stdout.decode().split("\n")[:-1]


def measure(
    cli: Path, table: Path, segments: Sequence[Segment], threads: int = 0
) -> tuple[list[list[float]], float]:
    """Statistics and score per segment (24 numbers), and the corpus score."""
    texts = [text for candidate, references in segments for text in (candidate, *references)]
    words = sorted(
        {word for line in normalise(cli, table, texts) for word in line.split(" ") if word}
    )
    lines = "".join(
        "\t".join([candidate, *references]) + "\n" for candidate, references in segments
    )
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as stems:
        stems.writelines(
            f"{word} {stem}\n"
            for word, stem in zip(words, Stemmer("english").stemWords(words), strict=True)
        )
        stems.flush()
        done = subprocess.run(
            [cli, "measure", table, stems.name, str(threads)],
            input=lines.encode(),
            stdout=subprocess.PIPE,
            check=True,
        )
    *rows, corpus = done.stdout.decode().splitlines()
    return [[float(value) for value in row.split()] for row in rows], float(corpus)


def check_golden(cli: Path, table: Path, folder: Path) -> int:
    lines = [
        json.loads(line) for line in (folder / "meteor_normalised.jsonl").read_text().splitlines()
    ]
    found = normalise(cli, table, [line["text"] for line in lines])
    wrong = [(line, got) for line, got in zip(lines, found, strict=True) if line["norm"] != got]
    print(f"normaliser: {len(lines)} lines, {len(wrong)} differ", *wrong[:SHOWN], sep="\n  ")

    *segments, last = [
        json.loads(line) for line in (folder / "meteor.jsonl").read_text().splitlines()
    ]
    rows, corpus = measure(cli, table, [(segment["cand"], segment["refs"]) for segment in segments])
    expected = [[float(value) for value in segment["stats"].split()] for segment in segments]
    differing = [
        number
        for number, row in enumerate(rows)
        if row[: meteor_jar.STATISTICS] != expected[number]
    ]
    worst = max(
        abs(row[-1] - segment["score"]) for row, segment in zip(rows, segments, strict=True)
    )
    gap = abs(corpus - last["corpus_score"])
    print(
        f"golden: {len(rows)} segments, {len(differing)} differ; "
        f"score off by {worst:.1e}, corpus by {gap:.1e}"
    )
    return int(bool(wrong or differing or worst > 1e-9 or gap > 1e-12))


def read_groups(paths: Sequence[Path]) -> list[list[str]]:
    groups: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        for annotation in json.loads(path.read_text())["annotations"]:
            caption = " ".join(annotation["caption"].replace("|||", " ").split())
            if caption:
                groups.setdefault((path.name, str(annotation["image_id"])), []).append(caption)
    return list(groups.values())


def read_paraphrases(path: Path, rng: random.Random, share: float) -> list[tuple[str, str]]:
    """A random share of the table's entries."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = (line.rstrip("\n") for line in file)
        entries = zip(lines, lines, lines, strict=True)
        return [(first, second) for _, first, second in entries if rng.random() < share]


def check_live(cli: Path, table: Path, segments: Sequence[Segment]) -> int:
    jar = meteor_jar.find_jar()
    if jar is None:
        sys.exit("no Java, or no METEOR jar: install pycocoevalcap or set CIDERY_METEOR_JAR")
    expected = meteor_jar.statistics(jar, segments)
    scores, corpus = meteor_jar.scores(jar, expected)
    rows, own_corpus = measure(cli, table, segments)
    differing = [
        number
        for number, row in enumerate(rows)
        if row[: meteor_jar.STATISTICS] != expected[number]
    ]
    worst = max(abs(row[-1] - score) for row, score in zip(rows, scores, strict=True))
    references = sum(len(refs) for _, refs in segments)
    print(f"live: {len(rows)} segments, {references} references, {len(differing)} differ")
    print(f"score off by {worst:.1e}, corpus score by {abs(own_corpus - corpus):.1e}")
    for number in differing[:SHOWN]:
        print(segments[number], expected[number], rows[number], sep="\n  ")
    return int(bool(differing or worst > 1e-9 or abs(own_corpus - corpus) > 1e-12))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    golden, live = commands.add_parser("golden"), commands.add_parser("live")
    for command in (golden, live):
        command.add_argument("cli", type=lambda name: Path(name).resolve())
        command.add_argument("table", type=Path)
    golden.add_argument("folder", type=Path)
    live.add_argument("paraphrases", type=Path)
    live.add_argument("count", type=int)
    live.add_argument("seed", type=int)
    live.add_argument("captions", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "golden":
        return check_golden(options.cli, options.table, options.folder)
    rng = random.Random(options.seed)
    maker = SegmentMaker(
        read_groups(options.captions), read_paraphrases(options.paraphrases, rng, 0.3), rng
    )
    return check_live(options.cli, options.table, maker.make(options.count))


if __name__ == "__main__":
    sys.exit(main())
