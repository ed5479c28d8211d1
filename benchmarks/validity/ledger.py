"""Ledger: agreement with judges, systems of different lengths, false captions, speed.

    python benchmarks/run.py ledger thumb ../shared/data/thumb [--metrics all]
    python benchmarks/run.py ledger held-out ../shared/data/thumb
    python benchmarks/run.py ledger systems ../shared/data/audit [--images 5000]
    python benchmarks/run.py ledger false ../shared/data/coco_karpathy/mscoco_val.json [--each 70]
    python benchmarks/run.py ledger speed ../shared/data/audit [--images 5000]

thumb: Pearson's r of every metric with precision, recall and total of THumB, and in parentheses by
how much claims-precision, -recall and -f have more, with intervals of a paired bootstrap over
images. held-out: the same where constants are chosen on four fifths of the images. systems: means
of claims, with and without length. false: how often a right caption has a higher claims-f than one
made false by rule. speed: seconds and megabytes (of all processes) for paragraphs of 80 words.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from false_captions import RULES, FalseCaption, make_false
from spice import watch_memory

import cidery
from cidery.metrics import METRICS
from cidery.metrics.claims.verdicts import CaptionClaims
from cidery.statistics import Floats, LengthControl

SYSTEMS = ("m2_transformer", "blip2", "llava_brief", "llava_default")
ASKED = {"precision": "precision", "recall": "recall", "total": "f"}
"""Questions of the judges, and the measure of claims that corresponds to each."""
PARAGRAPH = 80
"""Words."""
SHIPPED = (0.2, 0.8, 0.6)
"""The constants MIN_COSINE, MAX_COSINE and SENTENCE_WEIGHT of the claims."""


def judge_thumb(folder: Path, names: Sequence[str]) -> None:
    """Print how metrics go with what people say, and by how much claims do so better."""
    rows = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    captions = [row["caption"] for row in rows]
    references = [row["references"] for row in rows]
    human = {question: np.asarray([row[question] for row in rows], float) for question in ASKED}
    images = np.unique([row["image"] for row in rows], return_inverse=True)[1]
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(images == image) for image in range(images.max() + 1)]
    draws = [
        np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))])
        for _ in range(1000)
    ]
    ledger = cidery.judge_claims(captions, references)
    own = {name: ledger.column(name) for name in ("precision", "recall", "f")}
    drawn = {
        question: correlate(own[measure], human[question], draws)
        for question, measure in ASKED.items()
    }
    print(f"{'metric':28}" + "".join(f"{question:>34}" for question in ASKED))
    for measure, scores in own.items():
        show_agreement(f"claims-{measure}", scores, human, draws, drawn)
    control = LengthControl.fit([own["f"]], [ledger.lengths], [images], resamples=2)
    controlled = control.each(own["f"], ledger.lengths)
    show_agreement("claims-f, length-controlled", controlled, human, draws, drawn)
    for name in names:
        if not name.startswith("claims"):
            scores = np.nan_to_num(cidery.score(captions, references, [name]).each[name])
            sign = -1 if METRICS[name].lower_is_better else 1
            show_agreement(name, sign * scores, human, draws, drawn)


def correlate(scores: Floats, ratings: Floats, draws: Sequence[np.ndarray]) -> Floats:
    """Return Pearson's r, of all and then of each draw; 0 where all scores are equal."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found = [np.corrcoef(scores[d], ratings[d])[0, 1] for d in (slice(None), *draws)]
    return np.nan_to_num(np.asarray(found))


def show_agreement(
    name: str,
    scores: Floats,
    human: dict[str, Floats],
    draws: Sequence[np.ndarray],
    own: dict[str, Floats],
) -> None:
    """Print r with each question, and the interval of what the claims' own measure has more."""
    cells = []
    for question, ratings in human.items():
        found = correlate(scores, ratings, draws)
        more = own[question] - found
        low, high = np.quantile(more[1:], (0.025, 0.975))
        cells.append(f"{found[0]:.3f} ({more[0]:+.3f} [{low:+.3f}, {high:+.3f}])")
    print(f"{name:28}" + "".join(f"{cell:>34}" for cell in cells), flush=True)


def cross_validate(folder: Path) -> None:
    """Print r where the constants are chosen on other images than those that are judged."""
    from cidery.metrics.claims import metric as claims
    from cidery.metrics.claims import verdicts
    from cidery.metrics.claims.metric import load_synonym_check

    rows = [json.loads(line) for line in (folder / "dev.jsonl").read_text().splitlines()]
    read = read_all([text for row in rows for text in (row["caption"], *row["references"])])
    images = np.unique([row["image"] for row in rows], return_inverse=True)[1]
    folds = np.random.default_rng(0).permutation(images.max() + 1)[images] % 5
    same, scores = load_synonym_check(), {}
    for low, high, sentence in product((0.1, 0.2, 0.3), (0.7, 0.8, 0.9), (0.4, 0.6, 0.8)):
        verdicts.MIN_COSINE, verdicts.MAX_COSINE, verdicts.SENTENCE_WEIGHT = low, high, sentence
        scores[low, high, sentence] = judged = {measure: [] for measure in ASKED.values()}
        for row in rows:
            supported = [read[text] for text in row["references"]]
            found = verdicts.ReferenceStatements(supported, same, claims.find_modifier_share).judge(
                read[row["caption"]]
            )
            for measure, values in judged.items():
                values.append(getattr(found, measure))
    verdicts.MIN_COSINE, verdicts.MAX_COSINE, verdicts.SENTENCE_WEIGHT = SHIPPED
    for question, measure in ASKED.items():
        human = np.asarray([row[question] for row in rows], float)
        tried = {key: np.asarray(found[measure]) for key, found in scores.items()}
        held_out, chosen = np.zeros(len(rows)), []
        for fold in range(5):
            rest = folds != fold
            best = max(tried, key=lambda key: np.corrcoef(tried[key][rest], human[rest])[0, 1])
            held_out[~rest] = tried[best][~rest]
            chosen.append(best)
        values = [np.corrcoef(found, human)[0, 1] for found in tried.values()]
        print(
            f"claims-{measure} with {question}: r {np.corrcoef(held_out, human)[0, 1]:.3f} held "
            f"out, {np.corrcoef(tried[SHIPPED], human)[0, 1]:.3f} as it is, "
            f"{min(values):.3f} to {max(values):.3f} over {len(tried)} settings; chosen {chosen}",
            flush=True,
        )


def read_all(texts: Sequence[str]) -> dict[str, CaptionClaims]:
    """Return the claims and vectors of captions."""
    from cidery.encoders import get_encoder
    from cidery.metrics.claims.extraction import collect_statements, extract_claims, split_sentences
    from cidery.metrics.claims.metric import encode_sentences, join_caption
    from cidery.metrics.spice.parser import load_parser

    cut = {text: split_sentences(text) for text in dict.fromkeys(texts)}
    sentences = list(dict.fromkeys(s for found in cut.values() for s in found.sentences))
    known = extract_claims(load_parser(), sentences, 0)
    encoded = encode_sentences(get_encoder(), sentences, 0)
    return {
        text: join_caption(description, collect_statements(description, known), encoded)
        for text, description in cut.items()
    }


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


def try_false(file: Path, each: int, seed: int) -> None:
    """Print for each rule how often the right caption is the better one."""
    groups = [entry["captions"] for entry in json.loads(file.read_text())]
    print(f"{'rule':20}{'sentences':>10}{'captions':>10}{'right better':>14}{'where told':>12}")
    for sentences in (1, 2):
        cases = list(make_false(groups, each, seed=seed, sentences=sentences))
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
            supported = [n for n in chosen if is_supported(cases[n])]
            print(
                f"{rule or 'all':20}{sentences:10}{len(chosen):10}"
                f"{100 * better[chosen].mean():13.1f}%{100 * better[supported].mean():11.1f}%"
            )


def is_supported(case: FalseCaption) -> bool:
    """Return True if a reference has a word that the wrong caption lost, or if it lost none."""
    right, wrong = (set(text.lower().rstrip(".").split()) for text in (case.right, case.wrong))
    supported = set(" ".join(case.references).lower().replace(".", " ").split())
    return not right - wrong or bool((right - wrong) & supported)


def measure_speed(folder: Path, count: int) -> None:
    """Print how long the ledger of paragraphs takes, in a process as `cidery ledger` has one."""
    import cidery.cli  # with it, spaCy is loaded without torch

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
    parser.add_argument("part", choices=("thumb", "held-out", "systems", "false", "speed"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--metrics", nargs="+", default=["all"])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.part == "thumb":
        usable = [n for n, m in METRICS.items() if not (m.needs.settings or m.needs.all_candidates)]
        judge_thumb(options.path, usable if options.metrics == ["all"] else options.metrics)
    elif options.part == "held-out":
        cross_validate(options.path)
    elif options.part == "systems":
        compare_systems(options.path, options.images)
    elif options.part == "false":
        try_false(options.path, options.each, options.seed)
    else:
        measure_speed(options.path, options.images)


if __name__ == "__main__":
    main()
