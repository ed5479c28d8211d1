"""Accuracy of `cidery audit`: mistakes are planted in real captions.

    python benchmarks/run.py audit [--images COUNT] [--only NAME] [--folder FOLDER]

The planted numbers are not made by the auditor's code: BLEU and ROUGE-L come from pycocoevalcap,
the Penn Treebank words from its Java tokenizer, CIDEr from the plain Python below, after the
paper's equations; NLTK and rouge_score are used where they are installed. Without `--images`,
1,200 images of each system are taken; 0 takes all.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import re
import string
import subprocess
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import cidery

SHARED = Path(__file__).parents[3] / "shared" / "data"
PUNCTUATION = {"''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":"}
PUNCTUATION |= {"-", "--", "...", ";"}

Captions = dict[str, str]
References = dict[str, list[str]]
Cut = Callable[[list[str]], list[list[str]]]


# -- data -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class System:
    """A results file and its references."""

    name: str
    captions: Captions
    references: References

    def take(self, count: int) -> System:
        """Return its first images; 0: all."""
        chosen = list(self.captions)[: count or None]
        return replace(
            self,
            captions={i: self.captions[i] for i in chosen},
            references={i: self.references[i] for i in chosen},
        )


def read_systems(folder: Path, count: int) -> list[System]:
    audit = folder / "audit"
    references = {str(i): refs for i, refs in read(audit / "references.json").items()}
    systems = []
    for path in (
        audit / "m2_transformer.json",
        audit / "blip2.json",
        folder / "coco_karpathy" / "tden_karpathy_test_result.json",
        audit / "llava_brief.json",
    ):
        captions = {str(row["image_id"]): row["caption"] for row in read(path)}
        systems.append(System(path.stem, captions, references))
    flickr: References = defaultdict(list)
    for line in (folder / "flickr8k" / "Flickr8k.token.txt").read_text().splitlines():
        key, caption = line.split("\t")
        flickr[key.partition("#")[0]].append(caption)
    whole = {image: texts for image, texts in flickr.items() if len(texts) == 5}
    people = {image: texts[4] for image, texts in whole.items()}
    systems.append(System("flickr8k", people, {i: texts[:4] for i, texts in whole.items()}))
    pascal = read(folder / "pascal50s" / "refs50.json")
    people = {image: texts[10] for image, texts in pascal.items()}
    systems.append(System("pascal50s", people, {i: texts[:10] for i, texts in pascal.items()}))
    return [system.take(count) for system in systems]


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


# -- words ----------------------------------------------------------------------------------------


def stanford(captions: list[str], lower: bool, clean: bool) -> list[list[str]]:
    """Cut with the Java tokenizer that pycocoevalcap runs."""
    import pycocoevalcap

    jar = Path(next(iter(pycocoevalcap.__path__))) / "tokenizer" / "stanford-corenlp-3.4.1.jar"
    command = ["java", "-cp", str(jar), "edu.stanford.nlp.process.PTBTokenizer", "-preserveLines"]
    lines = "\n".join(caption.replace("\n", " ") for caption in captions)
    done = subprocess.run(
        [*command, *(["-lowerCase"] if lower else [])],
        input=lines.encode(),
        capture_output=True,
        check=True,
    )
    found = [line.split() for line in done.stdout.decode().split("\n")][: len(captions)]
    if clean:
        return [[word for word in words if word not in PUNCTUATION] for words in found]
    return found


def ptb(captions: list[str]) -> list[list[str]]:
    return stanford(captions, lower=True, clean=True)


def ptb_case(captions: list[str]) -> list[list[str]]:
    return stanford(captions, lower=False, clean=True)


def ptb_punctuation(captions: list[str]) -> list[list[str]]:
    return stanford(captions, lower=True, clean=False)


def split(captions: list[str]) -> list[list[str]]:
    return [caption.split() for caption in captions]


def lower_split(captions: list[str]) -> list[list[str]]:
    return [caption.lower().split() for caption in captions]


def regex(captions: list[str]) -> list[list[str]]:
    return [re.findall(r"\w+", caption.lower()) for caption in captions]


def stripped(captions: list[str]) -> list[list[str]]:
    table = {ord(sign): None for sign in string.punctuation}
    return [caption.lower().translate(table).split() for caption in captions]


def marks(captions: list[str]) -> list[list[str]]:
    return [re.findall(r"\w+|[^\w\s]", caption.lower()) for caption in captions]


def letters(captions: list[str]) -> list[list[str]]:
    return [list("".join(caption.split())) for caption in captions]


def nltk_words(captions: list[str]) -> list[list[str]]:
    from nltk.tokenize import NLTKWordTokenizer

    cut = NLTKWordTokenizer().tokenize
    return [cut(caption) for caption in captions]


def nltk_lower(captions: list[str]) -> list[list[str]]:
    return nltk_words([caption.lower() for caption in captions])


# -- numbers --------------------------------------------------------------------------------------

Words = list[str]


@dataclass
class Task:
    """Scored words of both sides, image by image, and settings."""

    captions: dict[str, Words]
    references: dict[str, list[Words]]
    documents: Sequence[Sequence[Words]] | None = None
    """Groups of captions for document frequencies; None: the references."""
    document_count: int | None = None
    counts: Mapping[tuple[str, ...], int] | None = None
    clip: bool = True
    sigma: float | None = 6.0
    scale: float = 10.0


def ngrams(words: Words) -> list[Counter[tuple[str, ...]]]:
    return [
        Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for n in range(1, 5)
    ]


def count_documents(groups: Sequence[Sequence[Words]]) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for group in groups:
        counts.update({gram for words in group for order in ngrams(words) for gram in order})
    return counts


def cider_each(task: Task) -> list[float]:
    """CIDEr and CIDEr-D of each caption: equations (1) to (5), as the community computes them."""
    documents = task.documents or list(task.references.values())
    counts = task.counts if task.counts is not None else count_documents(documents)
    total = math.log(task.document_count or len(documents))

    def weigh(words: Words) -> list[tuple[dict[tuple[str, ...], float], float]]:
        found = []
        for order in ngrams(words):
            vector = {g: c * (total - math.log(max(1, counts.get(g, 0)))) for g, c in order.items()}
            found.append((vector, math.sqrt(sum(value * value for value in vector.values()))))
        return found

    scores = []
    for image, words in task.captions.items():
        mine = weigh(words)
        score = 0.0
        for reference in task.references[image]:
            theirs = weigh(reference)
            # The community's code counts lengths in bigrams.
            delta = max(len(words) - 1, 0) - max(len(reference) - 1, 0)
            penalty = 1.0 if task.sigma is None else math.exp(-(delta**2) / (2 * task.sigma**2))
            for (one, norm), (other, other_norm) in zip(mine, theirs, strict=True):
                dot = 0.0
                for gram, value in one.items():
                    known = other.get(gram, 0.0)
                    dot += (min(value, known) if task.clip else value) * known
                if norm and other_norm:
                    score += dot / (norm * other_norm) * penalty / 4
        scores.append(task.scale * score / len(task.references[image]))
    return scores


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def tool(task: Task, which: str) -> tuple[Any, Any]:
    """Return what pycocoevalcap's BLEU or ROUGE-L says of the corpus and of each caption."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.rouge.rouge import Rouge

    known = {image: [" ".join(words) for words in refs] for image, refs in task.references.items()}
    mine = {image: [" ".join(words)] for image, words in task.captions.items()}
    scorer = Bleu(4) if which == "bleu" else Rouge()
    with contextlib.redirect_stdout(io.StringIO()):
        score, each = scorer.compute_score(known, mine)
    return score, each


def numbers(task: Task, metrics: Sequence[str]) -> dict[str, float]:
    """Return the scores of a task by the usual code."""
    found = {}
    for metric in metrics:
        if metric == "cider":
            found[metric] = mean(cider_each(task))
        elif metric == "bleu-4":
            found[metric] = float(tool(task, "bleu")[0][3])
        elif metric == "bleu-1":
            found[metric] = float(tool(task, "bleu")[0][0])
        elif metric == "rouge-l":
            found[metric] = float(tool(task, "rouge")[0])
    return found


# -- mistakes -------------------------------------------------------------------------------------


@dataclass
class Run:
    """A run of somebody's evaluation code, into which mistakes are planted."""

    system: System
    cut: Cut = ptb
    cut_references: Cut | None = None
    rows: list[tuple[str, str]] = field(default_factory=list)
    """The results file, if it is not the system's own."""
    change: list[Callable[[Task], Task]] = field(default_factory=list)
    """Changes of what is scored, in order."""
    finish: list[Callable[[dict[str, float], Task], dict[str, float]]] = field(default_factory=list)
    choose: Callable[[list[str]], list[str]] | None = None
    """Which references are used."""
    score: Callable[[Task, Sequence[str]], dict[str, float]] = numbers
    keep: str = "first"
    empty: bool = False

    def make_task(self) -> Task:
        """Return what this run scores."""
        rows = self.rows or list(self.system.captions.items())
        captions: Captions = {}
        for image, caption in rows:
            if self.keep == "all" and image in captions:
                captions[f"{image}#again"] = caption
            elif self.keep == "last" or image not in captions:
                captions[image] = caption
        references = dict(self.system.references)
        for image in list(captions):
            if image.endswith("#again"):
                references[image] = references[image.removesuffix("#again")]
        if self.empty:
            for image in references:
                captions.setdefault(image, "")
        references = {image: references[image] for image in captions}
        if self.choose is not None:
            references = {image: self.choose(texts) for image, texts in references.items()}
        flat = [text for texts in references.values() for text in texts]
        known = iter((self.cut_references or self.cut)(flat))
        words = dict(zip(captions, self.cut(list(captions.values())), strict=True))
        task = Task(words, {i: [next(known) for _ in texts] for i, texts in references.items()})
        for change in self.change:
            task = change(task)
        return task

    def claim(self, metrics: Sequence[str]) -> dict[str, float]:
        """Return the numbers that it reports."""
        task = self.make_task()
        found = self.score(task, metrics)
        for finish in self.finish:
            found = finish(found, task)
        return found


Plant = Callable[[Run], None]


def cutting(cut: Cut, references: Cut | None = None) -> Plant:
    def plant(run: Run) -> None:
        run.cut, run.cut_references = cut, references

    return plant


def choosing(choose: Callable[[list[str]], list[str]]) -> Plant:
    def plant(run: Run) -> None:
        run.choose = choose

    return plant


def changing(change: Callable[[Task], Task]) -> Plant:
    def plant(run: Run) -> None:
        run.change.append(change)

    return plant


def shift(step: int) -> Callable[[Task], Task]:
    def change(task: Task) -> Task:
        images, words = list(task.captions), list(task.captions.values())
        turned = words[-step:] + words[:-step]
        return replace(task, captions=dict(zip(images, turned, strict=True)))

    return change


def swap(task: Task) -> Task:
    return replace(
        task,
        captions={image: refs[0] for image, refs in task.references.items()},
        references={image: [words] for image, words in task.captions.items()},
    )


def end_both(task: Task) -> Task:
    return replace(
        task,
        captions={i: [*w, "<end>"] for i, w in task.captions.items()},
        references={i: [[*w, "<end>"] for w in refs] for i, refs in task.references.items()},
    )


def end_candidates(task: Task) -> Task:
    return replace(task, captions={i: [*w, "</s>"] for i, w in task.captions.items()})


def on_results(task: Task) -> Task:
    return replace(task, documents=[[words] for words in task.captions.values()])


def on_each_reference(task: Task) -> Task:
    return replace(task, documents=[[words] for refs in task.references.values() for words in refs])


def on_five_samples(task: Task) -> Task:
    counts = count_documents(list(task.references.values()))
    return replace(
        task,
        counts={gram: 5 * count for gram, count in counts.items()},
        document_count=5 * len(task.references),
    )


@cache
def coco_counts(part: str) -> tuple[Counter[tuple[str, ...]], int]:
    from workloads import coco

    captions = coco(part)
    flat = [text for texts in captions.values() for text in texts]
    words = iter(ptb(flat))
    groups = [[next(words) for _ in texts] for texts in captions.values()]
    return count_documents(groups), len(groups)


def on_coco(part: str) -> Callable[[Task], Task]:
    def change(task: Task) -> Task:
        counts, count = coco_counts(part)
        return replace(task, counts=counts, document_count=count)

    return change


def plain_cider(task: Task) -> Task:
    return replace(task, clip=False, sigma=None)


def apart(task: Task) -> Task:
    captions, references = {}, {}
    for image, refs in task.references.items():
        for number, words in enumerate(refs):
            captions[f"{image}/{number}"] = task.captions[image]
            references[f"{image}/{number}"] = [words]
    return replace(task, captions=captions, references=references)


def in_batches(size: int) -> Plant:
    def score(task: Task, metrics: Sequence[str]) -> dict[str, float]:
        images = list(task.captions)
        parts = []
        for start in range(0, len(images), size):
            here = images[start : start + size]
            part = replace(
                task,
                captions={i: task.captions[i] for i in here},
                references={i: task.references[i] for i in here},
            )
            parts.append(numbers(part, metrics))
        return {metric: mean([part[metric] for part in parts]) for metric in metrics}

    def plant(run: Run) -> None:
        run.score = score

    return plant


def finishing(finish: Callable[[dict[str, float], Task], dict[str, float]]) -> Plant:
    def plant(run: Run) -> None:
        run.finish.append(finish)

    return plant


def times(factor: float) -> Plant:
    def finish(found: dict[str, float], task: Task) -> dict[str, float]:  # noqa: ARG001
        return {k: v * factor if k == "cider" else v for k, v in found.items()}

    return finishing(finish)


def sentence_bleu(found: dict[str, float], task: Task) -> dict[str, float]:
    each = tool(task, "bleu")[1]
    return {k: mean(each[int(k[-1]) - 1]) if k.startswith("bleu") else v for k, v in found.items()}


def nltk_bleu(method: str) -> Plant:
    def finish(found: dict[str, float], task: Task) -> dict[str, float]:
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        smooth = getattr(SmoothingFunction(), method)
        each = [
            sentence_bleu(task.references[i], words, smoothing_function=smooth)
            for i, words in task.captions.items()
        ]
        return {k: mean(each) if k == "bleu-4" else v for k, v in found.items()}

    return finishing(finish)


def rouge_beta(beta: float) -> Plant:
    def finish(found: dict[str, float], task: Task) -> dict[str, float]:
        from pycocoevalcap.rouge.rouge import Rouge

        scorer = Rouge()
        scorer.beta = beta
        known = {i: [" ".join(w) for w in refs] for i, refs in task.references.items()}
        mine = {i: [" ".join(w)] for i, w in task.captions.items()}
        return found | {"rouge-l": float(scorer.compute_score(known, mine)[0])}

    return finishing(finish)


def rounding(digits: int) -> Plant:
    def finish(found: dict[str, float], task: Task) -> dict[str, float]:
        return found | {"cider": mean([round(score, digits) for score in cider_each(task)])}

    return finishing(finish)


def duplicate(run: Run) -> None:
    rows = list(run.system.captions.items())
    others = [caption for _, caption in rows]
    extra = [(rows[i][0], others[-i - 1]) for i in range(0, len(rows), 9)]
    run.rows = rows + extra


def duplicates_counted(run: Run) -> None:
    duplicate(run)
    run.keep = "all"


def last_duplicate(run: Run) -> None:
    duplicate(run)
    run.keep = "last"


def lose_images(run: Run) -> None:
    run.rows = [row for i, row in enumerate(run.system.captions.items()) if i % 11]


def missing_empty(run: Run) -> None:
    lose_images(run)
    run.empty = True


MISTAKES: dict[str, tuple[set[str], Plant]] = {
    "no tokenizer": ({"no-tokenizer"}, cutting(split)),
    "lower case and split": ({"lower-case-split"}, cutting(lower_split)),
    "case kept": ({"case-kept"}, cutting(ptb_case)),
    "punctuation kept": ({"punctuation-kept"}, cutting(ptb_punctuation)),
    "regex": ({"regex-words"}, cutting(regex)),
    "punctuation deleted": ({"punctuation-deleted"}, cutting(stripped)),
    "words and marks": ({"words-and-marks", "words-and-punctuation"}, cutting(marks)),
    "references not tokenized": (
        {"references-not-tokenized", "no-tokenizer"},
        cutting(ptb, split),
    ),
    "characters": ({"characters"}, cutting(letters)),
    "references as characters": ({"references-as-characters"}, cutting(ptb, letters)),
    "nltk": ({"nltk-tokenizer"}, cutting(nltk_words)),
    "nltk lower": ({"nltk-tokenizer-lower-case", "punctuation-kept"}, cutting(nltk_lower)),
    "swapped": ({"swapped"}, changing(swap)),
    "shifted down": ({"ids-shifted-down"}, changing(shift(1))),
    "shifted up": ({"ids-shifted-up"}, changing(shift(-1))),
    "end token": ({"end-token"}, changing(end_both)),
    "end token in candidates": ({"end-token-in-candidates"}, changing(end_candidates)),
    "first reference": ({"first-reference"}, choosing(lambda texts: texts[:1])),
    "first 3 references": ({"first-3-references"}, choosing(lambda texts: texts[:3])),
    "last reference": ({"last-reference"}, choosing(lambda texts: texts[-1:])),
    "weights from results": ({"weights-from-results"}, changing(on_results)),
    "weights per reference": (
        {"weights-per-reference", "references-as-images"},
        changing(on_each_reference),
    ),
    "weights of five samples": ({"weights-images-repeated"}, changing(on_five_samples)),
    "weights of val": ({"weights-coco-val2014"}, changing(on_coco("val2014"))),
    "weights of train": ({"weights-coco-train2014"}, changing(on_coco("train2014"))),
    "plain CIDEr": ({"cider-instead-of-cider-d"}, changing(plain_cider)),
    "references as images": ({"references-as-images", "weights-per-reference"}, changing(apart)),
    "batches of 8": ({"averaged-per-batch-of-8"}, in_batches(8)),
    "batches of 32": ({"averaged-per-batch-of-32"}, in_batches(32)),
    "batches of 100": ({"averaged-per-batch-of-100"}, in_batches(100)),
    "times 10": ({"times-10"}, times(10)),
    "divided by 10": ({"divided-by-10"}, times(0.1)),
    "sentence BLEU": ({"bleu-of-sentences"}, finishing(sentence_bleu)),
    "NLTK BLEU, method 1": ({"bleu-of-sentences-smoothed-epsilon"}, nltk_bleu("method1")),
    "NLTK BLEU, method 2": ({"bleu-of-sentences-smoothed-add-one"}, nltk_bleu("method2")),
    "NLTK BLEU, method 3": ({"bleu-of-sentences-smoothed-exponential"}, nltk_bleu("method3")),
    "NLTK BLEU, method 4": ({"bleu-of-sentences-smoothed-by-length"}, nltk_bleu("method4")),
    "ROUGE with beta 1": ({"rouge-beta-1"}, rouge_beta(1.0)),
    "ROUGE with beta 2": ({"rouge-beta-2"}, rouge_beta(2.0)),
    "captions rounded": ({"captions-rounded-to-0"}, rounding(0)),
    "duplicates counted": ({"duplicates-counted"}, duplicates_counted),
    "last duplicate": ({"last-duplicate-kept"}, last_duplicate),
    "missing as empty": ({"missing-counted-as-empty"}, missing_empty),
    "missing left out": ({"missing-left-out"}, lose_images),
}
SINGLES = tuple(MISTAKES)
PAIRS = (
    ("no tokenizer", "first reference"),
    ("no tokenizer", "plain CIDEr"),
    ("no tokenizer", "times 10"),
    ("no tokenizer", "weights of val"),
    ("no tokenizer", "sentence BLEU"),
    ("lower case and split", "weights of train"),
    ("lower case and split", "batches of 32"),
    ("lower case and split", "plain CIDEr"),
    ("punctuation kept", "first reference"),
    ("punctuation kept", "weights from results"),
    ("case kept", "plain CIDEr"),
    ("regex", "first reference"),
    ("punctuation deleted", "weights of val"),
    ("punctuation deleted", "batches of 8"),
    ("shifted down", "no tokenizer"),
    ("shifted up", "weights of val"),
    ("first reference", "plain CIDEr"),
    ("first 3 references", "weights of train"),
    ("last reference", "divided by 10"),
    ("end token", "plain CIDEr"),
    ("end token in candidates", "weights of val"),
    ("swapped", "no tokenizer"),
    ("batches of 100", "plain CIDEr"),
    ("weights of val", "plain CIDEr"),
    ("sentence BLEU", "weights of val"),
    ("ROUGE with beta 1", "lower case and split"),
    ("NLTK BLEU, method 1", "no tokenizer"),
    ("duplicates counted", "no tokenizer"),
    ("missing as empty", "lower case and split"),
    ("times 10", "first reference"),
)

ONLY = {
    "sentence BLEU": ["bleu-4"],
    "ROUGE with beta 1": ["rouge-l"],
    "ROUGE with beta 2": ["rouge-l"],
}
ONLY |= {name: ["bleu-4"] for name in MISTAKES if name.startswith("NLTK BLEU")}
METRICS = (["cider"], ["cider", "bleu-4"], ["cider", "bleu-4", "rouge-l"])


@dataclass(frozen=True)
class Outcome:
    """Results of the audit for planted mistakes."""

    name: str
    system: str
    claims: tuple[str, ...]
    expected: tuple[frozenset[str], ...]
    causes: tuple[str, ...]
    rank: int | None
    seconds: float

    @property
    def hit(self) -> bool:
        """True if they are ranked first."""
        return self.rank == 1


def spell(found: Mapping[str, float], digits: int, percent: bool) -> dict[str, str]:
    factor, places = (100, digits - 2) if percent else (1, digits)
    return {metric: f"{factor * value:.{places}f}" for metric, value in found.items()}


def is_expected(causes: Sequence[str], expected: Sequence[frozenset[str]]) -> bool:
    left = list(causes)
    for ids in expected:
        match = next((cause for cause in left if cause in ids), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def try_mistakes(
    names: Sequence[str], system: System, metrics: Sequence[str], digits: int, percent: bool
) -> Outcome:
    run = Run(system)
    for name in names:
        MISTAKES[name][1](run)
    needed = list(metrics)
    for name in names:
        needed += [metric for metric in ONLY.get(name, []) if metric not in needed]
        if name in ONLY and len(names) == 1 and metrics == METRICS[0]:
            needed = list(ONLY[name])
    found = run.claim(needed)
    claims = spell(found, digits, percent)
    rows = run.rows or list(system.captions.items())
    begun = time.process_time()
    audit = cidery.audit(rows, system.references, claims)
    seconds = time.process_time() - begun
    expected = tuple(frozenset(MISTAKES[name][0]) for name in names)
    ranked = [
        [tuple(cause.id for cause in account.causes), *account.alternatives]
        for account in audit.explanations
    ]
    places = [place for place, options in enumerate(ranked, 1) if is_expected(options[0], expected)]
    first = ranked[0][0] if ranked else ()
    return Outcome(
        " + ".join(names),
        system.name,
        tuple(f"{k}={v}" for k, v in claims.items()),
        expected,
        first,
        places[0] if places else None,
        seconds,
    )


def try_right(system: System, metrics: Sequence[str], digits: int, percent: bool) -> Outcome:
    claims = spell(Run(system).claim(metrics), digits, percent)
    begun = time.process_time()
    audit = cidery.audit(list(system.captions.items()), system.references, claims)
    seconds = time.process_time() - begun
    first = audit.explanations[0].causes if audit.explanations else None
    causes = tuple(c.id for c in first) if first is not None else ("nothing fits",)
    written = tuple(f"{k}={v}" for k, v in claims.items())
    return Outcome("right", system.name, written, (), causes, None if causes else 1, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=1200)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, default=SHARED)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    systems = read_systems(chosen.folder, chosen.images)
    machines = systems[:4]
    groups: dict[str, list[Outcome]] = {"single": [], "pair": [], "right": []}

    def note(kind: str, outcome: Outcome) -> None:
        groups[kind].append(outcome)
        mark = "ok  " if outcome.hit else "MISS"
        place = "" if outcome.rank in (1, None) else f" (listed at place {outcome.rank})"
        print(
            f"{mark} {kind}: {outcome.name} | {outcome.system} | {' '.join(outcome.claims)} | "
            f"{', '.join(outcome.causes) or 'right'}{place} | {outcome.seconds:.1f} s",
            flush=True,
        )

    planned = [("single", (name,)) for name in SINGLES] + [("pair", pair) for pair in PAIRS]
    for number, (kind, names) in enumerate(planned):
        label = " + ".join(names)
        if chosen.only and chosen.only not in f"{kind} {label}":
            continue
        try:
            system = (systems if kind == "single" else machines)[
                number % (5 if kind == "single" else 4)
            ]
            metrics = METRICS[number % 3]
            note(kind, try_mistakes(names, system, metrics, 4, percent=number % 5 == 4))
        except ImportError as error:
            print(f"skipped: {label}: {error}")
    for number in range(20):
        if chosen.only and chosen.only not in "right":
            break
        system = systems[number % len(systems)]
        chosen = list(system.captions)[number * 7 :]
        part = replace(
            system,
            captions={image: system.captions[image] for image in chosen},
            references={image: system.references[image] for image in chosen},
        )
        note("right", try_right(part, METRICS[number % 3], 3 + number % 2, number % 4 == 3))
    print()
    for kind, outcomes in groups.items():
        if outcomes:
            hits = sum(outcome.hit for outcome in outcomes)
            seconds = max(outcome.seconds for outcome in outcomes)
            print(
                f"{kind}: {hits} of {len(outcomes)} first ({hits / len(outcomes):.0%}), at most "
                f"{seconds:.1f} s of processor time"
            )


if __name__ == "__main__":
    main()
