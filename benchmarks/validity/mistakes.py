"""Error of CIDEr-D caused by common mistakes in evaluation code.

    python benchmarks/run.py mistakes [--audit] [--images COUNT] REFERENCES RESULTS [RESULTS ...]

Prints a Markdown table, CIDEr-D times 100; without files, for the bundled example. Files may have
any format that `cidery score` reads. With `--audit`, mistakes and pairs of them are planted into
the captions, and a second table shows how many `cidery audit` names first from the scores alone,
and how many correct scores and scores of unknown pipelines it explains by a mistake. Planted scores
have one decimal and come from `cidery.score` of changed captions, not from the auditor's pipelines;
a mistake that does not change the printed scores is not counted.
"""

from __future__ import annotations

import argparse
import html
import math
import random
import re
import string
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import cidery
from cidery.corpus import bundled
from cidery.frequencies import load_shipped

Candidates = Mapping[str, str]
References = Mapping[str, list[str]]
PART = 10
LABELS = {
    "m2_transformer": "M² Transformer",
    "blip2": "BLIP-2",
    "llava_brief": "LLaVA-1.5, asked briefly",
    "llava_default": "LLaVA-1.5",
}
"""Names of published systems, by the names of their files."""


def score(candidates: Candidates, references: References, tokenizer: object = "ptb-coco") -> float:
    return (
        100
        * cidery.score(candidates, references, ["cider-d"], tokenizer=tokenizer).corpus["cider-d"]
    )


def split_lower(caption: str) -> list[str]:
    return caption.lower().split()


def score_parts(size: int) -> Callable[[Candidates, References], float]:
    def score_in_parts(candidates: Candidates, references: References) -> float:
        images = list(candidates)
        parts = [images[start : start + size] for start in range(0, len(images), size)]
        return float(
            np.mean(
                [
                    score({i: candidates[i] for i in part}, {i: references[i] for i in part})
                    for part in parts
                ]
            )
        )

    return score_in_parts


MISTAKES: Mapping[str, Callable[[Candidates, References], float]] = {
    "right: Penn Treebank words of all images": score,
    "no tokenizer, split at blanks (VLMEvalKit)": lambda c, r: score(c, r, "whitespace"),
    "lower case, split at blanks": lambda c, r: score(c, r, split_lower),
    f"{PART} images at a time, then the mean (lmms-eval's `youcook2`, by video)": score_parts(PART),
    "one image at a time, then the mean (VLMEvalKit's MMSci)": score_parts(1),
    "one reference of each image": lambda c, r: score(c, {i: texts[:1] for i, texts in r.items()}),
}


# -- planted mistakes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Files that the auditor gets, and what was scored for the claim."""

    rows: list[tuple[str, str]]
    known: References
    candidates: Candidates
    references: References
    metric: str = "cider-d"
    tokenizer: Any = "ptb-coco"
    frequencies: str | None = None
    factor: float = 1.0

    def claim(self) -> dict[str, float]:
        """Return CIDEr and BLEU-4 times 100."""
        weights: dict[str, Any] = {}
        if self.frequencies is not None:
            shipped = load_shipped(self.frequencies)
            weights["frequencies"] = replace(shipped, tokenizer="unknown")
        scores = cidery.score(
            self.candidates,
            self.references,
            [self.metric, "bleu-4"],
            tokenizer=self.tokenizer,
            **weights,
        ).corpus
        return {"cider": 100 * self.factor * scores[self.metric], "bleu-4": 100 * scores["bleu-4"]}


Plant = Callable[[Case], Case]


def edit(change: Callable[[str], str], *, both: bool = False) -> Plant:
    """Change the captions that were scored."""

    def plant(case: Case) -> Case:
        references = case.references
        if both:
            references = {i: list(map(change, texts)) for i, texts in references.items()}
        candidates = {i: change(text) for i, text in case.candidates.items()}
        return replace(case, candidates=candidates, references=references)

    return plant


def edit_file(change: Callable[[str], str]) -> Plant:
    """Change the captions of the file; the claim is right."""
    return lambda case: replace(case, rows=[(i, change(text)) for i, text in case.rows])


def choose(pick: Callable[[list[str]], list[str]]) -> Plant:
    """Choose among the references of each image."""
    return lambda case: replace(
        case, references={i: pick(texts) for i, texts in case.references.items()}
    )


def take(pick: Callable[[list[str]], list[str]]) -> Plant:
    """Score some images only."""

    def plant(case: Case) -> Case:
        images = pick(list(case.candidates))
        return replace(
            case,
            candidates={i: case.candidates[i] for i in images},
            references={i: case.references[i] for i in images},
        )

    return plant


def set_up(**settings: Any) -> Plant:
    """Score with other settings."""
    return lambda case: replace(case, **settings)


def shift(count: int, *, in_file: bool = False) -> Plant:
    """Shift captions by some lines."""

    def plant(case: Case) -> Case:
        images, texts = list(case.candidates), list(case.candidates.values())
        moved = dict(zip(images, [*texts[-count:], *texts[:-count]], strict=True))
        return replace(case, rows=[*moved.items()]) if in_file else replace(case, candidates=moved)

    return plant


def duplicate(count: int, *, other: bool) -> Plant:
    """Repeat images in the file, with their own or with other captions, and count them."""

    def plant(case: Case) -> Case:
        texts = [text for _, text in case.rows]
        again = [(i, texts[-k - 1] if other else text) for k, (i, text) in enumerate(case.rows)]
        rows = [*case.rows, *again[:count]]
        return replace(
            case,
            rows=rows,
            candidates={f"{i} {k}": text for k, (i, text) in enumerate(rows)},
            references={f"{i} {k}": case.references[i] for k, (i, _) in enumerate(rows)},
        )

    return plant


def swap(case: Case) -> Case:
    return replace(
        case,
        candidates={i: texts[0] for i, texts in case.references.items()},
        references={i: [text] for i, text in case.candidates.items()},
    )


def delete_marks(text: str) -> str:
    return text.lower().translate(str.maketrans("", "", string.punctuation))


def delete_articles(text: str) -> str:
    return re.sub(r"\b(?:a|an|the)\b", " ", text.lower())


def first_words(count: int) -> Callable[[str], str]:
    return lambda text: " ".join(text.split()[:count])


def encode_letters(text: str) -> str:
    return html.escape(text).replace(" with ", " w&#105;th ")


CLEANED_TOKENS = {"special-tokens-removed", "subwords-joined", "debris-removed"}
ONE_TOKEN = {
    *("s-left-in", "eos-left-in", "end-left-in", "pad-left-in", "unk-left-in"),
    *("end-of-turn-left-in", "end-token-in-candidates"),
}
BARS = {"im-end-left-in", "endoftext-left-in", "eot-id-left-in"}
UNMARKED = {"punctuation-removed-before", "punctuation-deleted", "regex-words"}

SINGLES: dict[str, tuple[set[str], Plant]] = {
    "first reference": ({"first-reference"}, choose(lambda texts: texts[:1])),
    "last reference": ({"last-reference"}, choose(lambda texts: texts[-1:])),
    "three references": ({"first-3-references"}, choose(lambda texts: texts[:3])),
    "second reference": ({"reference-2-only"}, choose(lambda texts: texts[1:2])),
    "longest reference": (
        {"longest-reference"},
        choose(lambda texts: [max(texts, key=lambda text: len(text.split()))]),
    ),
    "shifted by 1": ({"ids-shifted-down"}, shift(1)),
    "shifted by -1": ({"ids-shifted-up"}, shift(-1)),
    "shifted by 3": ({"ids-shifted-down-by-3"}, shift(3)),
    "file shifted by 1": ({"ids-shifted-up"}, shift(1, in_file=True)),
    "swapped": ({"swapped"}, swap),
    "plain CIDEr": ({"cider-instead-of-cider-d"}, set_up(metric="cider:faithful=coco")),
    "CIDEr-R": ({"cider-r-instead-of-cider-d"}, set_up(metric="cider-r")),
    "sigma 3": ({"cider-sigma-3"}, set_up(metric="cider-d:sigma=3")),
    "sigma 12": ({"cider-sigma-12"}, set_up(metric="cider-d:sigma=12")),
    "three n-grams": ({"cider-d-of-3-grams"}, set_up(metric="cider-d:n=3")),
    "train weights": ({"weights-coco-train2014"}, set_up(frequencies="coco-train2014")),
    "val weights": ({"weights-coco-val2014"}, set_up(frequencies="coco-val2014")),
    "times 10": ({"times-10"}, set_up(factor=10.0)),
    "divided by 10": ({"divided-by-10"}, set_up(factor=0.1)),
    "whitespace": ({"no-tokenizer"}, set_up(tokenizer="whitespace")),
    "lower case, whitespace": ({"lower-case-split"}, set_up(tokenizer=split_lower)),
    "punctuation deleted": (UNMARKED, edit(delete_marks, both=True)),
    "articles deleted": ({"articles-removed"}, edit(delete_articles, both=True)),
    "16 words": ({"cut-at-16-words"}, edit(first_words(16))),
    "12 words": ({"cut-at-12-words"}, edit(first_words(12))),
    "9 words": ({"cut-at-9-words"}, edit(first_words(9))),
    "40 characters": ({"cut-at-40-characters"}, edit(lambda text: text[:40])),
    "50 characters": ({"cut-at-50-characters"}, edit(lambda text: text[:50])),
    "last word lost": ({"last-word-lost"}, edit(lambda text: " ".join(text.split()[:-1]))),
    "first word lost": ({"first-word-lost"}, edit(lambda text: " ".join(text.split()[1:]))),
    "<|im_end|> in file": (CLEANED_TOKENS, edit_file(lambda text: f"{text}<|im_end|>")),
    "<|im_end|> scored": (BARS, edit(lambda text: f"{text}<|im_end|>")),
    "</s> in file": (CLEANED_TOKENS, edit_file(lambda text: f"{text}</s>")),
    "</s> scored": (ONE_TOKEN, edit(lambda text: f"{text} </s>")),
    "[SEP] scored": ({"sep-left-in"}, edit(lambda text: f"{text} [SEP]")),
    "entities in file": (
        {"html-entities-removed", "escapes-undone", "debris-removed"},
        edit_file(encode_letters),
    ),
    "Answer: in file": (
        {"prefix-removed", "debris-removed"},
        edit_file(lambda text: f"Answer: {text}"),
    ),
    "Answer: scored": ({"answer-left-in"}, edit(lambda text: f"Answer: {text}")),
    "Caption: scored": ({"caption-left-in"}, edit(lambda text: f"Caption: {text}")),
    "assistant in file": (
        {"prefix-removed", "debris-removed"},
        edit_file(lambda text: f"assistant\n{text}"),
    ),
    "prompt in file": (
        {"same-beginning-removed", "same-beginning-removed-before-article"},
        edit_file(lambda text: f"The image shows {text}"),
    ),
    "ending in file": (
        {"same-ending-removed"},
        edit_file(lambda text: f"{text} in the image"),
    ),
    "a photo of scored": ({"a-photo-of-left-in"}, edit(lambda text: f"a photo of {text}")),
    "reasoning in file": (
        {"reasoning-removed", "debris-removed"},
        edit_file(lambda text: f"<think>Let me look at it.</think>{text}"),
    ),
    "Markdown in file": ({"markdown-removed", "debris-removed"}, edit_file("**{}**".format)),
    "first 1000 images": ({"first-1000-images"}, take(lambda images: images[:1000])),
    "last 1000 images": ({"last-1000-images"}, take(lambda images: images[-1000:])),
    "first 500 images": ({"first-500-images"}, take(lambda images: images[:500])),
    "every other image": ({"one-image-of-2-from-1"}, take(lambda images: images[::2])),
    "duplicates": ({"duplicates-counted"}, duplicate(500, other=False)),
    "other duplicates": ({"duplicates-counted"}, duplicate(400, other=True)),
}
PAIRS = (
    ("<|im_end|> in file", "train weights"),
    ("Answer: in file", "plain CIDEr"),
    ("9 words", "first reference"),
    ("9 words", "train weights"),
    ("9 words", "whitespace"),
    ("whitespace", "first reference"),
    ("whitespace", "plain CIDEr"),
    ("whitespace", "train weights"),
    ("whitespace", "times 10"),
    ("first reference", "plain CIDEr"),
    ("first 1000 images", "plain CIDEr"),
    ("first 1000 images", "whitespace"),
    ("last 1000 images", "first reference"),
    ("other duplicates", "train weights"),
    ("duplicates", "whitespace"),
    ("shifted by 1", "plain CIDEr"),
    ("<|im_end|> scored", "val weights"),
    ("punctuation deleted", "plain CIDEr"),
    ("entities in file", "times 10"),
    ("last reference", "val weights"),
)
LEAST_SCORE = 10.0
"""Minimum CIDEr of a system: one decimal of a smaller one says nothing."""
CLAIMS = (("cider", "bleu-4"), ("cider",))


def perturb(case: Case, rng: random.Random) -> dict[str, float]:
    """Return scores that no known pipeline gives."""
    images = list(case.candidates)
    kind = rng.randrange(5)
    if kind == 0:  # another system, or another evaluation
        return {name: value * math.exp(rng.gauss(0, 0.1)) for name, value in case.claim().items()}
    if kind == 1:  # words were lost
        share = rng.uniform(0.02, 0.2)
        return edit(lambda text: " ".join(w for w in text.split() if rng.random() > share) or "a")(
            case
        ).claim()
    if kind == 2:  # a random part of the images
        chosen = rng.sample(images, int(rng.uniform(0.3, 0.95) * len(images)))
        return take(lambda _: chosen)(case).claim()
    if kind == 3:  # random references
        count = rng.choice([1, 2, 3, 4])
        return choose(lambda texts: rng.sample(texts, min(count, len(texts))))(case).claim()
    chosen = rng.sample(images, int(rng.uniform(0.05, 0.5) * len(images)))
    texts = dict(case.candidates)  # captions of some images were exchanged
    for image, other in zip(chosen, [*chosen[1:], *chosen[:1]], strict=True):
        texts[image] = case.candidates[other]
    return replace(case, candidates=texts).claim()


def is_named(causes: Sequence[str], expected: Sequence[set[str]]) -> bool:
    left = list(causes)
    for ids in expected:
        match = next((cause for cause in left if cause in ids), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def list_planted() -> Iterator[tuple[str, list[str]]]:
    for name in SINGLES:
        yield "one mistake", [name]
    for pair in PAIRS:
        yield "two mistakes", [*pair]


def audit_case(
    case: Case, scores: Mapping[str, float], metrics: Sequence[str]
) -> tuple[cidery.Audit, float]:
    begun = time.process_time()
    claims = {name: f"{scores[name]:.1f}" for name in metrics}
    found = cidery.audit(case.rows, case.known, claims, threads=1, resamples=100)
    return found, time.process_time() - begun


def audit_systems(systems: Mapping[str, Candidates], references: References, unknown: int) -> None:
    """Print how often the audit is right."""
    cases = []
    for candidates in systems.values():
        known = {i: references[i] for i in candidates}
        case = Case([*candidates.items()], known, candidates, known)
        if case.claim()["cider"] >= LEAST_SCORE:
            cases.append(case)
    counts: dict[tuple[str, tuple[str, ...]], list[bool]] = {}
    most = 0.0

    def note(what: str, metrics: tuple[str, ...], right: bool, line: str) -> None:
        counts.setdefault((what, metrics), []).append(right)
        print(f"{'ok  ' if right else 'MISS'} {what}: {line}", file=sys.stderr, flush=True)

    rng = random.Random(0)
    strange = [(n, perturb(cases[n % len(cases)], rng)) for n in range(unknown)]
    for metrics in CLAIMS:
        for number, (what, names) in enumerate(list_planted()):
            case = cases[number % len(cases)]
            for name in names:
                case = SINGLES[name][1](case)
            found, seconds = audit_case(case, case.claim(), metrics)
            most = max(most, seconds)
            if found.verdict == "confirmed":
                continue  # the mistakes change nothing that is printed
            first = found.explanations[:1]
            options = [
                ids for e in first for ids in (tuple(c.id for c in e.causes), *e.alternatives)
            ]
            right = any(is_named(ids, [SINGLES[n][0] for n in names]) for ids in options)
            note(what, metrics, right, f"{' + '.join(names)}: {found.summary}")
        for number, scores in strange:
            found, seconds = audit_case(cases[number % len(cases)], scores, metrics)
            most = max(most, seconds)
            fine = found.verdict != "explained"
            note("unknown pipeline", metrics, fine, f"{scores}: {found.summary}")
        for case in cases:
            found, _ = audit_case(case, case.claim(), metrics)
            note("correct score", metrics, found.verdict == "confirmed", found.summary)
    print()
    print("| | CIDEr and BLEU-4 | CIDEr |")
    print("|---|---:|---:|")
    rows = {
        "one mistake: named first": ("one mistake", True),
        "two mistakes: named first": ("two mistakes", True),
        "unknown pipelines: accused of a mistake": ("unknown pipeline", False),
        "correct scores: accused of a mistake": ("correct score", False),
    }
    for label, (what, right) in rows.items():
        cells = []
        for metrics in CLAIMS:
            outcomes = counts.get((what, metrics), [])
            count = sum(outcome == right for outcome in outcomes)
            cells.append(f"{count} of {len(outcomes)}")
        print(f"| {label} | {' | '.join(cells)} |")
    print()
    print(f"Processor time of an audit: at most {most:.1f} s.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--audit", action="store_true", help="audit planted mistakes, too")
    parser.add_argument("--images", type=int, default=0, help="0: all")
    parser.add_argument("--unknown", type=int, default=60, help="number of unknown pipelines")
    chosen = parser.parse_args()
    paths = chosen.files
    warnings.simplefilter("ignore")
    if not paths:
        paths = [
            str(bundled.path(n)) for n in ("references.json", "system_a.json", "system_b.json")
        ]
    references = {str(i): texts for i, texts in cidery.read_references(paths[0]).items()}
    systems = {
        Path(path).stem: {str(i): text for i, text in cidery.read_candidates(path)}
        for path in paths[1:]
    }
    print(f"| | {' | '.join(LABELS.get(name, name) for name in systems)} |")
    print(f"|---|{'---:|' * len(systems)}")
    for name, measure in MISTAKES.items():
        values = []
        for candidates in systems.values():
            values.append(f"{measure(candidates, {i: references[i] for i in candidates}):.1f}")
        print(f"| {name} | {' | '.join(values)} |")
    if chosen.audit:
        first = {
            name: {i: texts[i] for i in list(texts)[: chosen.images or None]}
            for name, texts in systems.items()
        }
        audit_systems(first, references, chosen.unknown)


if __name__ == "__main__":
    main()
