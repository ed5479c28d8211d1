"""The ledger: agreement with people, systems of different length, false captions, speed.

    python benchmarks/ledger.py thumb ../shared/data/thumb [--metrics all]
    python benchmarks/ledger.py systems ../shared/data/audit [--images 5000]
    python benchmarks/ledger.py false ../shared/data/coco_karpathy/mscoco_val.json [--each 200]
    python benchmarks/ledger.py speed ../shared/data/audit [--images 5000]

thumb: Pearson's r of every metric with precision, recall and total of THumB, intervals by a
bootstrap over images. systems: means of claims, with and without length. false: how often a right
caption has a higher claims-f than one made false by rule. speed: seconds and megabytes (of all
processes) for paragraphs of 80 words.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from false_captions import RULES, FalseCaption, make_false
from spice import watch_memory

import cidery
from cidery.metrics import METRICS
from cidery.statistics import Floats, LengthControl

SYSTEMS = ("m2_transformer", "blip2", "llava_brief", "llava_default")
PARAGRAPH = 80
"""Words."""


def judge_thumb(folder: Path, names: Sequence[str]) -> None:
    """Print how metrics go with what people say of precision, recall and the whole."""
    rows = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    captions = [row["caption"] for row in rows]
    references = [row["references"] for row in rows]
    asked = ("precision", "recall", "total")
    human = {question: np.asarray([row[question] for row in rows]) for question in asked}
    images = np.unique([row["image"] for row in rows], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(images == image) for image in range(images.max() + 1)]
    draws = [
        np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))])
        for _ in range(500)
    ]
    print(f"{'metric':26}" + "".join(f"{question:>24}" for question in asked))
    for name in names:
        scores = np.nan_to_num(cidery.score(captions, references, [name]).each[name])
        show_agreement(name, scores, human, draws)
        if name == "claims-f":
            ledger = cidery.judge_claims(captions, references)
            control = LengthControl.fit([scores], [ledger.lengths], [images], resamples=2)
            controlled = control.each(scores, ledger.lengths)
            show_agreement("claims-f, length-controlled", controlled, human, draws)


def show_agreement(
    name: str, scores: Floats, human: dict[str, Floats], draws: Sequence[np.ndarray]
) -> None:
    """Print Pearson's r with each question, and its interval."""
    cells = []
    for ratings in human.values():
        drawn = [np.corrcoef(scores[d], ratings[d])[0, 1] for d in draws]
        low, high = np.quantile(drawn, (0.025, 0.975))
        cells.append(f"{np.corrcoef(scores, ratings)[0, 1]:8.3f} [{low:.3f}, {high:.3f}]")
    print(f"{name:26}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


def compare_systems(folder: Path, count: int) -> None:
    """Print the table of `cidery ledger` for four systems."""
    references = json.loads((folder / "references.json").read_text())
    chosen = dict(list(references.items())[:count])
    ledgers = {}
    for name in SYSTEMS:
        rows = json.loads((folder / f"{name}.json").read_text())
        captions = {str(row["image_id"]): row["caption"] for row in rows}
        ledgers[name] = cidery.judge_claims({image: captions[image] for image in chosen}, chosen)
    print(cidery.compare_ledgers(ledgers))


def try_false(file: Path, each: int) -> None:
    """Print for each rule how often the right caption is the better one."""
    groups = [entry["captions"] for entry in json.loads(file.read_text())]
    print(f"{'rule':20}{'sentences':>10}{'captions':>10}{'right better':>14}{'where told':>12}")
    for sentences in (1, 2):
        cases = list(make_false(groups, each, seed=0, sentences=sentences))
        candidates = {
            (n, w): c.wrong if w else c.right for n, c in enumerate(cases) for w in (0, 1)
        }
        references = {key: list(cases[key[0]].references) for key in candidates}
        scores = cidery.score(
            list(candidates.values()), list(references.values()), ["claims-f"]
        ).each["claims-f"]
        better = scores[0::2] > scores[1::2]
        for rule in (*RULES, ""):
            chosen = [n for n, case in enumerate(cases) if rule in ("", case.rule)]
            told = [n for n in chosen if is_told(cases[n])]
            print(
                f"{rule or 'all':20}{sentences:10}{len(chosen):10}"
                f"{100 * better[chosen].mean():13.1f}%{100 * better[told].mean():11.1f}%"
            )


def is_told(case: FalseCaption) -> bool:
    """Tell whether a reference has a word that the wrong caption lost, if it lost any."""
    right, wrong = (set(text.lower().rstrip(".").split()) for text in (case.right, case.wrong))
    told = set(" ".join(case.references).lower().replace(".", " ").split())
    return not right - wrong or bool((right - wrong) & told)


def measure_speed(folder: Path, count: int) -> None:
    """Print how long the ledger of paragraphs takes."""
    references = json.loads((folder / "references.json").read_text())
    rows = json.loads((folder / "llava_default.json").read_text())
    texts = [row["caption"] for row in rows]
    captions = {}
    for place, row in enumerate(rows[:count]):
        words = f"{texts[place]} {texts[place - 1]} {texts[place - 2]}".split()
        captions[str(row["image_id"])] = " ".join(words[:PARAGRAPH])
    chosen = {image: references[image] for image in captions}
    with watch_memory() as peak:
        start, used = time.perf_counter(), time.process_time()
        ledger = cidery.judge_claims(captions, chosen)
        seconds, own = time.perf_counter() - start, time.process_time() - used
    claims = sum(len(entry.lines) for entry in ledger.entries)
    print(
        f"{count} paragraphs of {PARAGRAPH} words, {claims} claims: {seconds:.1f} s "
        f"({own:.1f} CPU s in this process), {peak[0]:.0f} MB"
    )


def main() -> None:
    """Run one of the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("thumb", "systems", "false", "speed"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--metrics", nargs="+", default=["all"])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--each", type=int, default=200)
    options = parser.parse_args()
    if options.part == "thumb":
        names = list(METRICS) if options.metrics == ["all"] else options.metrics
        judge_thumb(options.path, names)
    elif options.part == "systems":
        compare_systems(options.path, options.images)
    elif options.part == "false":
        try_false(options.path, options.each)
    else:
        measure_speed(options.path, options.images)


if __name__ == "__main__":
    main()
