"""Compare the native PTB tokenizer with golden files and, live, with the original jar.

    python tests/ptb_compare.py DRIVER golden ../shared/golden
    python tests/ptb_compare.py DRIVER coco captions_train2014.json captions_val2014.json
    python tests/ptb_compare.py DRIVER fuzz captions_val2014.json --seed 1 --count 20000

DRIVER is the program built from tests/native/ptb_driver.cpp.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import jar
import ptb_fuzz

DOCUMENT_END = "\x1d"
ALTERNATIVES = {"The": "The zzend", "Cap": "Zork zzend", "num": "5 zzend"}
Tokens = list[str]


class Driver:
    """The native tokenizer behind a pipe."""

    def __init__(self, program: str) -> None:
        self.program = program

    def run(self, mode: str, kind: str, lines: Sequence[str]) -> list[Tokens]:
        text = "".join(line.replace("\n", " ") + "\n" for line in lines)
        done = subprocess.run(
            [self.program, mode, kind],
            input=text.encode(),
            capture_output=True,
            check=True,
            timeout=60,
        )
        output = done.stdout.decode().split("\n")[:-1]
        return [line.split(" ") if line else [] for line in output]

    def single(self, captions: Sequence[str], kind: str = "raw") -> list[Tokens]:
        return self.run("single", kind, captions)

    def documents(self, documents: Sequence[Sequence[str]], kind: str = "raw") -> list[Tokens]:
        lines: list[str] = []
        for captions in documents:
            lines += [*captions, DOCUMENT_END]
        return self.run("document", kind, lines)


def report(name: str, cases: Iterable[tuple[str, Tokens, Tokens]], shown: int) -> int:
    """Print the number of differences and the first few; return the number."""
    wrong = total = 0
    for text, ours, theirs in cases:
        total += 1
        if ours != theirs:
            wrong += 1
            if wrong <= shown:
                print(f"  {text!r}\n    ours   {' '.join(ours)!r}\n    theirs {' '.join(theirs)!r}")
    print(f"{name}: {wrong} different of {total}")
    return wrong


def breaks_line(text: str) -> bool:
    return any(character in text for character in jar.LINE_BREAKS)


def check_golden(driver: Driver, folder: Path, shown: int) -> int:
    lines = (folder / "ptb_open.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    entries = [json.loads(line) for line in lines]
    texts = [entry["text"] for entry in entries]
    wrong = 0
    for key, kind in (("tokens", "raw"), ("clean", "clean")):
        ours = driver.single(texts, kind)
        cases = [(e["text"], o, e[key]) for e, o in zip(entries, ours, strict=True)]
        wrong += report(key, cases, shown)
    for name, following in ALTERNATIVES.items():
        ours = driver.documents([[text, following] for text in texts])[::2]
        cases = [
            (e["text"], o, e.get("alt", {}).get(name, e["tokens"]))
            for e, o in zip(entries, ours, strict=True)
        ]
        wrong += report(f"before {following!r}", cases, shown)
    ours = driver.documents([[text] for text in texts])
    cases = [
        (e["text"], o, e.get("alt", {}).get("eof", e["tokens"]))
        for e, o in zip(entries, ours, strict=True)
    ]
    wrong += report("at end of input", cases, shown)
    return wrong + check_documents(driver, folder / "ptb_docs.jsonl", shown)


def check_documents(driver: Driver, path: Path, shown: int) -> int:
    wrong = 0
    for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        entry = json.loads(line)
        captions = entry["captions"]
        ours = driver.documents([captions], "clean")
        theirs = [text.split(" ") if text else [] for text in entry["out"]]
        if any(breaks_line(caption) for caption in captions):
            print(f"{entry['name']}: skipped, its captions break lines")
            continue
        cases = zip(captions, ours, theirs, strict=True)
        different = sum(o != t for _, o, t in cases)
        if different:
            report(entry["name"], zip(captions, ours, theirs, strict=True), shown)
        wrong += different
    print(f"documents: {wrong} different")
    return wrong


def read_coco(paths: Sequence[Path]) -> list[str]:
    captions: list[str] = []
    for path in paths:
        annotations = json.loads(path.read_text(encoding="utf-8"))["annotations"]
        captions += [annotation["caption"] for annotation in annotations]
    return captions


def check_coco(driver: Driver, paths: Sequence[Path], shown: int) -> int:
    captions = [c.replace("\n", " ") for c in read_coco(paths)]
    wrong = report(
        "single captions",
        zip(captions, driver.single(captions), jar.jar_single(captions), strict=True),
        shown,
    )
    for path in paths:
        document = [c.replace("\n", " ") for c in read_coco([path])]
        ours = driver.documents([document])
        cases = zip(document, ours, jar.jar_document(document), strict=True)
        wrong += report(f"{path.name} as one document", cases, shown)
    return wrong


def check_fuzz(driver: Driver, paths: Sequence[Path], seed: int, count: int, shown: int) -> int:
    captions = ptb_fuzz.mutated_captions(read_coco(paths), seed, count)
    theirs = jar.jar_single(captions)
    wrong = report(
        f"fuzzed captions, seed {seed}",
        zip(captions, driver.single(captions), theirs, strict=True),
        shown,
    )
    straight = [caption for caption in captions if not breaks_line(caption)]
    ours = driver.documents([straight])
    cases = zip(straight, ours, jar.jar_document(straight), strict=True)
    return wrong + report(f"the same as one document, seed {seed}", cases, shown)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("driver")
    parser.add_argument("check", choices=["golden", "coco", "fuzz"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--show", type=int, default=20, help="differences to print per check")
    options = parser.parse_args()
    driver = Driver(options.driver)
    if options.check == "golden":
        return min(1, check_golden(driver, options.paths[0], options.show))
    if options.check == "coco":
        return min(1, check_coco(driver, options.paths, options.show))
    return min(1, check_fuzz(driver, options.paths, options.seed, options.count, options.show))


if __name__ == "__main__":
    sys.exit(main())
