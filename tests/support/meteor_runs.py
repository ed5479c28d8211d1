"""METEOR in other languages, run here and by the jar on the same segments."""

from __future__ import annotations

import gzip
import json
import random
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cidery
from cidery.metrics.base import GroupedCaptions, TokenizedCandidates, TokenizedReferences
from cidery.metrics.meteor_languages import METEOR_LANGUAGES, STAGES
from cidery.runtime import Workspace
from cidery.statistics import Floats
from cidery.storage import find_sources, write_meteor_table
from cidery.storage.meteor_table import JAR, NAMES
from cidery.text import Tokenizer
from support import meteor_jar
from support.meteor_phrases import PHRASES, list_paraphrases, make_groups
from support.meteor_segments import Segment, SegmentMaker

CHUNKS = 20


@dataclass(frozen=True)
class Run:
    """A language, and what is compared in it."""

    language: str
    paraphrases: bool = False
    own_words: bool = False

    @property
    def label(self) -> str:
        kinds = ["paraphrases"] * self.paraphrases + ["own words"] * self.own_words
        return " ".join([self.language, *kinds])

    @property
    def stages(self) -> list[str]:
        """The jar's modules, in its order, which is that of its statistics."""
        known = METEOR_LANGUAGES[self.language].weights
        return [s for s in STAGES if s in known and (self.paraphrases or s != "paraphrase")]

    def make_metric(self, folder: Path) -> cidery.Meteor:
        """Make the metric; its paraphrases are compiled in the folder."""
        if not self.paraphrases:
            words = "own" if self.own_words else "english"
            return cidery.Meteor(language=self.language, function_words=words)
        table = folder / f"{self.language}.table"
        write_meteor_table(table, self.write_paraphrases(folder), self.language)
        return cidery.Meteor(language=self.language, table=table)

    def write_paraphrases(self, folder: Path) -> Path:
        path = folder / f"{self.language}.gz"
        entries = (
            f"{p.probability}\n{p.first}\n{p.second}\n" for p in list_paraphrases(self.language)
        )
        path.write_bytes(gzip.compress("".join(entries).encode()))
        return path

    def ask_jar(
        self, segments: Sequence[Segment], folder: Path
    ) -> tuple[Floats, list[float], float]:
        """Return the jar's statistics in our order, its scores, and its score of the corpus."""
        jar = find_sources() / JAR
        weights = METEOR_LANGUAGES[self.language].weights
        options = [
            "-m",
            " ".join(self.stages),
            "-w",
            " ".join(str(weights[s]) for s in self.stages),
        ]
        if self.paraphrases:
            options += ["-a", str(self.write_paraphrases(folder))]
        if self.own_words:
            words = folder / "words"
            with zipfile.ZipFile(jar) as archive:
                words.write_bytes(archive.read(f"function/{NAMES[self.language]}.words"))
            options += ["-s", str(words)]
        with meteor_jar.Session(jar, *options, language=self.language) as session:
            rows = meteor_jar.statistics(session, segments)
            scores, corpus = meteor_jar.scores(session, rows)
        ordered = np.zeros((len(rows), meteor_jar.STATISTICS))
        given = np.array(rows)
        ordered[:, :4], ordered[:, CHUNKS:] = given[:, :4], given[:, CHUNKS:]
        for place, stage in enumerate(self.stages):
            to, start = 4 + 4 * STAGES.index(stage), 4 + 4 * place
            ordered[:, to : to + 4] = given[:, start : start + 4]
        return ordered, scores, corpus


@dataclass(frozen=True)
class Compared:
    """Agreement of a run here with a run of the jar."""

    segments: int
    differences: list[str]


def list_runs(languages: Iterable[str] = ()) -> list[Run]:
    """List all runs of these languages, by default of all but English."""
    runs = []
    for language in languages or PHRASES:
        runs.append(Run(language))
        if language in NAMES:
            runs += [Run(language, paraphrases=True), Run(language, own_words=True)]
    return runs


def make_segments(language: str, count: int, seed: int) -> list[Segment]:
    """Make segments of all kinds; equal ones for equal seeds."""
    rng = random.Random(f"{language}{seed}")
    groups = make_groups(language, 300, rng)
    return SegmentMaker(groups, list_paraphrases(language), rng).make(count)


def cut(caption: str) -> list[str]:
    """Cut at blanks alone, so that METEOR sees every other character."""
    return caption.split(" ")


def measure(metric: cidery.Meteor, segments: Sequence[Segment]) -> Floats:
    """Return the 23 statistics of segments."""
    tokenizer = Tokenizer("blanks", cut)
    sizes = [len(references) for _, references in segments]
    offsets = np.cumsum([0, *sizes]).astype(np.uint64)
    tokenized = tokenizer([text for _, references in segments for text in references])
    references = TokenizedReferences(GroupedCaptions(tokenized, offsets), tokenizer)
    images = np.arange(len(segments), dtype=np.uint32)
    candidates = TokenizedCandidates(tokenizer([candidate for candidate, _ in segments]), images)
    work = Workspace()
    return metric.prepare(references, work).measure(candidates, work)


def compare(run: Run, count: int, folder: Path, seed: int) -> Compared:
    """Compare statistics and scores of so many segments."""
    segments = make_segments(run.language, count, seed)
    metric = run.make_metric(folder)
    rows = measure(metric, segments)
    expected, scores, corpus = run.ask_jar(segments, folder)
    found = metric.each(rows)
    perfect = (rows[:, CHUNKS] == 0) & (expected[:, CHUNKS] == 1)  # counts no chunk in the sum
    same = (rows == expected) | (perfect[:, None] & (np.arange(rows.shape[1]) == CHUNKS))
    if METEOR_LANGUAGES[run.language].delta == 0.5:
        # Function words weigh what all others do: they are not looked for.
        same |= ~same & _is_split(rows.shape[1])
    differences = [
        f"{segments[place]}: {found[place]} here, {scores[place]} there"
        for place in range(len(segments))
        if not same[place].all() or abs(found[place] - scores[place]) > 1e-12
    ]
    if abs(metric.reduce(rows) - corpus) > 1e-12:
        differences.append(f"corpus: {metric.reduce(rows)} and {corpus}")
    return Compared(len(segments), differences)


def write_golden(path: Path, runs: Iterable[Run], folder: Path) -> None:
    """Write what the jar answers to a few short segments of each run, a line each."""
    lines = []
    for run in runs:
        if run.paraphrases:
            continue  # these need a table of their own
        made = make_segments(run.language, 100, seed=2)
        segments = [s for s in made if len(" ".join([s[0], *s[1]])) < 400]
        rows, scores, _ = run.ask_jar(segments, folder)
        answers = list(zip(segments, rows, scores, strict=True))
        answers.sort(key=lambda answer: not answer[1][8:12].any())  # stems first
        for (candidate, references), row, score in [*answers[:6], *answers[-6:]]:
            entry = {
                "language": run.language,
                "function_words": "own" if run.own_words else "english",
                "candidate": candidate,
                "references": references,
                "statistics": row.astype(int).tolist(),
                "score": score,
            }
            lines.append(json.dumps(entry, ensure_ascii=False) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def _is_split(columns: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which columns tell function words and content words apart."""
    places = np.arange(columns)
    return (places == 2) | (places == 3) | ((places >= 4) & (places < CHUNKS))
