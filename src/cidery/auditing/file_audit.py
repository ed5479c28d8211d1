"""audit_files(): problems in captions, ids and references, and their effect on the score."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery import _native
from cidery.auditing.audit_data import AuditData, ImageSelection
from cidery.auditing.pipelines import (
    AuditPipeline,
    Engine,
    NotApplicableError,
    pair_rows,
)
from cidery.auditing.text_edits import (
    decode_again,
    has_escapes,
    has_mojibake,
    has_special_tokens,
    remove_special_tokens,
    undo_escapes,
)
from cidery.corpus import LENGTH_ROBUST_METRICS, Candidates, Corpus, References
from cidery.runtime import current_progress
from cidery.scoring import Pipeline, Scorer
from cidery.statistics import Floats
from cidery.tables import without_nan
from cidery.text import (
    KINDS,
    LANGUAGES,
    classify_scripts,
    clean_captions,
    scan_captions,
    split_words,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EXAMPLES = 3
_LONGEST_EXAMPLE = 120


@dataclass(frozen=True)
class Finding:
    """Problem in captions, ids or references.

    `cost` is the gain of CIDEr-D by the repair that `advice` names; None where there is no repair.
    """

    id: str
    title: str
    """One-sentence description."""
    count: int
    """Number of captions or images affected."""
    examples: tuple[str, ...]
    """Examples, each with its image."""
    cost: float | None
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return asdict(self) | {"examples": list(self.examples)}


@dataclass(frozen=True)
class FileAudit:
    """Result of `audit_files`.

    ```python
    found = cidery.audit_files(candidates, references)
    [finding.title for finding in found.findings]
    ```
    """

    images: int
    """Number of scored images."""
    captions: int
    """Number of candidate rows."""
    references: int
    score: float
    """CIDEr-D of the captions without repairs."""
    findings: tuple[Finding, ...]
    """Sorted by cost, largest first."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as a dictionary for JSON."""
        content = asdict(self) | {"findings": [finding.to_dict() for finding in self.findings]}
        return without_nan(content)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        if not self.findings:
            return f"no problems found in {self.captions} captions of {self.images} images"
        return "\n".join(finding.title for finding in self.findings)


def audit_files(
    candidates: Candidates,
    references: References,
    *,
    candidates_name: str = "results.json",
    references_name: str = "references.json",
) -> FileAudit:
    """Find problems in captions, ids and references, and their effect on CIDEr-D.

    Args:
        candidates: as in `score`; images without references are a finding.
        references: as in `score`; images without candidates are a finding.
        candidates_name: name of the candidates in messages, such as their file.
        references_name: name of the references in messages.

    ```python
    cidery.audit_files({"a": "a dog <eos>"}, {"a": ["a dog runs"]}).findings[0].id
    ```
    """
    systems = {candidates_name: candidates}
    return audit_systems(systems, references, references_name)[candidates_name]


def audit_systems(
    systems: Mapping[str, Candidates], references: References, references_name: str
) -> dict[str, FileAudit]:
    """Return the result of `audit_files` for each system; they share prepared references."""
    scorers: dict[tuple[int, ...], Scorer] = {}
    return {
        name: _audit(AuditData.build(captions, references, name, references_name), scorers)
        for name, captions in systems.items()
    }


def _audit(data: AuditData, scorers: dict[tuple[int, ...], Scorer]) -> FileAudit:
    inspection = _Inspection(data, scorers)
    report = current_progress()
    found: list[Finding] = []
    for number, check in enumerate(_CHECKS):
        report("checking captions", number / len(_CHECKS))
        found += check(inspection)
    found.sort(key=lambda finding: -abs(finding.cost or 0.0))
    return FileAudit(
        images=len(data.described),
        captions=len(data.rows) + len(data.unmatched_ids),
        references=len(data.references),
        score=inspection.score,
        findings=tuple(found),
    )


class _Inspection:
    """Captions with their tokens and scores."""

    def __init__(self, data: AuditData, scorers: dict[tuple[int, ...], Scorer]) -> None:
        self.data = data
        self._scorers = scorers

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.data)

    @cached_property
    def scorer(self) -> Scorer:
        """CIDEr-D of the images with captions, prepared once for all systems with these images."""
        described = tuple(self.data.described.tolist())
        if described not in self._scorers:
            _, references = self.data.standard_input()
            corpus = Corpus.from_references(references)
            self._scorers[described] = Pipeline.choose("cider-d").prepare(corpus)
        return self._scorers[described]

    @cached_property
    def score(self) -> float:
        """CIDEr-D without repairs."""
        return self.score_captions(self.captions)

    def score_captions(self, captions: list[str]) -> float:
        """Return CIDEr-D of other captions of the same images."""
        rows = self.scorer.measure(captions, self.images)["cider-d"]
        return self.scorer.metrics["cider-d"].reduce(rows)

    def score_each(self, captions: list[str], images: NDArray[np.int64]) -> Floats:
        """Return CIDEr-D of each caption with the image of that index."""
        return self.scorer.metrics["cider-d"].each(self.scorer.measure(captions, images)["cider-d"])

    @cached_property
    def scores(self) -> Floats:
        """CIDEr-D of each scored caption."""
        return self.score_each(self.captions, self.images)

    @cached_property
    def images(self) -> NDArray[np.int64]:
        """Index of the image of each scored caption, among the images with captions."""
        images = self.data.row_images[self.data.first_rows]
        return np.searchsorted(self.data.described, images)

    @cached_property
    def captions(self) -> list[str]:
        """Scored captions."""
        return [self.data.rows[row] for row in self.data.first_rows.tolist()]

    @cached_property
    def words(self) -> list[list[str]]:
        """Tokens of the scored captions."""
        return _native.ptb_tokens(self.captions)

    @cached_property
    def reference_words(self) -> list[list[str]]:
        return _native.ptb_tokens(self.data.references)

    def image(self, row: int) -> str:
        """Return the name of the image of a scored caption."""
        place = self.data.row_images[self.data.first_rows[row]]
        return str(self.data.images[int(place)])

    def show(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return some of the captions with their images."""
        chosen = list(rows)[:_EXAMPLES]
        captions = self.captions
        return tuple(f"{self.image(row)}: {_shorten(captions[row])}" for row in chosen)

    def repair(self, captions: Sequence[str]) -> float:
        """Return the gain of CIDEr-D when the scored captions are replaced."""
        return self.score_captions(list(captions)) - self.score

    def leave_out(self, rows: Sequence[int]) -> float | None:
        """Return the gain of CIDEr-D without some captions and their images."""
        kept = np.delete(self.scores, rows)
        return float(kept.mean()) - self.score if len(kept) else None


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_EXAMPLE else f"{plain[: _LONGEST_EXAMPLE - 1]}…"


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


# -- ids ------------------------------------------------------------------------------------------


def _find_missing_problem(found: _Inspection) -> Iterator[Finding]:
    data = found.data
    if len(data.missing) and data.lacks_images:
        count = len(data.missing)
        shown = [str(data.images[i]) for i in data.missing[:_EXAMPLES].tolist()]
        empty = found.engine.run(AuditPipeline(images=ImageSelection("empty")), "cider-d")
        yield Finding(
            "missing-images",
            f"{_count(count, 'image')} of {len(data.images):,} have no caption in "
            f"{data.candidates_name}.",
            count,
            tuple(shown),
            empty - found.score,
            "Caption all images. The cost counts missing captions as 0; a score without these "
            "images is not comparable with scores on the whole test set.",
        )
    if data.unmatched_ids:
        count = len(data.unmatched_ids)
        yield Finding(
            "unknown-images",
            f"{_count(count, 'image')} of {data.candidates_name} "
            f"{'has' if count == 1 else 'have'} no references.",
            count,
            tuple(map(str, data.unmatched_ids[:_EXAMPLES])),
            None,
            "Check the ids and whether the references are of the same split; these images cannot "
            "be scored.",
        )


def _find_duplicates_problem(found: _Inspection) -> Iterator[Finding]:
    data = found.data
    if not data.has_duplicates:
        return
    twice = np.flatnonzero(data.rows_per_image > 1)
    counted = found.engine.run(AuditPipeline(images=ImageSelection("all")), "cider-d")
    shown = []
    for image in twice[:_EXAMPLES].tolist():
        rows = np.flatnonzero(data.row_images == image)
        texts = " | ".join(_shorten(data.rows[row]) for row in rows[:2].tolist())
        shown.append(f"{data.images[image]}: {texts}")
    yield Finding(
        "duplicated-images",
        f"{_count(len(twice), 'image')} {'has' if len(twice) == 1 else 'have'} several captions in "
        f"{data.candidates_name}, others one.",
        len(twice),
        tuple(shown),
        found.score - counted,
        "Keep one caption per image. The cost compares scoring every row with scoring the "
        "first of each image.",
    )


_PAIRINGS = {
    "down": "the image of the next line",
    "up": "the image of the line before",
    "position": "the references by their order in both files, whatever the ids",
    "references-down": "the next image, in the order of the references",
    "references-up": "the image before, in the order of the references",
}
_LEAST_ROWS = 8
_LEAST_GAIN = 1.5


def _find_shifts_problem(found: _Inspection) -> Iterator[Finding]:
    """Compare captions with neighboring images; a range of rows may be shifted."""
    data = found.data
    if len(data.first_rows) < _LEAST_ROWS or len(data.described) < _LEAST_ROWS:
        return
    own = found.scores
    best: tuple[float, str, int, int] | None = None
    for pairing in _PAIRINGS:
        shifted = _score_shifted(found, pairing)
        if shifted is None:
            continue
        gain, start, end = _find_run(shifted - own)
        length = end - start
        if length < max(_LEAST_ROWS, 0.02 * len(own)):
            continue
        better = shifted[start:end].mean() > _LEAST_GAIN * own[start:end].mean() + 0.1
        if better and (best is None or gain > best[0] * 1.001):
            best = (gain, pairing, start, end)
    if best is None:
        return
    gain, pairing, start, end = best
    whole = end - start > 0.98 * len(own)
    where = "" if whole else f" from row {start + 1:,} to row {end:,}"
    yield Finding(
        "shifted-ids",
        f"Captions{where} match {_PAIRINGS[pairing]} better: ids are shifted.",
        end - start,
        found.show(range(start, end)),
        gain / len(own),
        "Compare a few captions with their images, and check for a line that was lost or added "
        f"{'at the start' if whole else f'at row {start + 1:,}'} when ids and captions were "
        "joined.",
    )


def _score_shifted(found: _Inspection, pairing: str) -> Floats | None:
    """Return the score of each row with another image."""
    data = found.data
    ids = [data.images[image] for image in data.described.tolist()]
    rows = np.arange(len(found.captions))
    try:
        paired, images = pair_rows(pairing, rows, found.images, ids)
    except NotApplicableError:
        return None
    by_row = np.empty(len(rows))
    by_row[paired] = found.score_each([found.captions[row] for row in paired.tolist()], images)
    return by_row


def _find_run(gains: Floats) -> tuple[float, int, int]:
    """Return the largest sum of consecutive gains, with its start and end."""
    best, best_start, best_end, total, start = 0.0, 0, 0, 0.0, 0
    for place, gain in enumerate(gains.tolist()):
        if total <= 0:
            total, start = 0.0, place
        total += gain
        if total > best:
            best, best_start, best_end = total, start, place + 1
    return best, best_start, best_end


def _find_swapped_problem(found: _Inspection) -> Iterator[Finding]:
    """Compare the diversity of both sides: human captions repeat less than generated ones."""
    data = found.data
    if int(data.reference_counts.max()) > 1 or len(data.images) < _LEAST_ROWS * 4:
        return
    rows = _native.ptb_tokens(data.rows)
    mine = len(set(map(tuple, rows))) / len(rows)
    theirs = len(set(map(tuple, found.reference_words))) / len(found.reference_words)
    several = bool(data.rows_per_image.max() > 1)
    if not ((several and mine >= theirs) or mine > theirs + 0.1):
        return
    yield Finding(
        "swapped",
        f"{data.candidates_name} looks like references and {data.references_name} like "
        "results: "
        + (
            "it has several captions per image, the other one each."
            if several
            else f"{1 - theirs:.0%} of the references repeat another, {1 - mine:.0%} of the "
            "candidates."
        ),
        len(data.images),
        found.show(range(len(data.first_rows))),
        found.engine.run(AuditPipeline(pairing="swapped"), "cider-d") - found.score,
        "Swap the two files: results come first.",
    )


# -- captions -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TextProblem:
    """Problem in the text of captions that can be found and repaired."""

    id: str
    description: str
    find: Callable[[str], bool]
    clean: Callable[[str], str] | None
    """Repair; None where there is none."""
    advice: str
    in_references: bool = True
    """True where references are checked, too."""


def _list_text_problems() -> Iterator[_TextProblem]:
    for kind in KINDS.values():
        if kind.name == "special-tokens":
            yield _TextProblem(
                kind.name,
                "special tokens or marks of subwords, such as <eos>",
                lambda caption, find=kind.find: find(caption) or has_special_tokens(caption),  # type: ignore[misc]
                lambda caption: remove_special_tokens(clean_captions([caption], _TOKENS)[0]),
                _ADVICE,
            )
        elif kind.clean is not None:
            yield _TextProblem(
                kind.name,
                kind.description,
                kind.find,
                kind.clean,
                f"Remove them before scoring (--clean {kind.name}); they count as words.",
                in_references=kind.name == "html-entities",
            )
        elif kind.name != "truncated":  # a check of its own
            yield _TextProblem(
                kind.name,
                kind.description,
                kind.find,
                None,
                "Caption these images again; the text is not a caption.",
                in_references=False,
            )
    yield _TextProblem(
        "mojibake",
        "wrongly decoded text (mojibake)",
        has_mojibake,
        decode_again,
        "Read and write the file as UTF-8.",
    )
    yield _TextProblem(
        "escapes",
        "escape sequences of JSON, such as \\n",
        has_escapes,
        undo_escapes,
        "Decode them before scoring; they count as words.",
    )


_ADVICE = "Remove them before scoring; they count as words."
_TOKENS = ("special-tokens",)
_TEXT_PROBLEMS = tuple(_list_text_problems())


def _find_text_problems(found: _Inspection) -> Iterator[Finding]:
    data = found.data
    for problem in _TEXT_PROBLEMS:
        captions = found.captions
        rows = [row for row, caption in enumerate(captions) if problem.find(caption)]
        if rows:
            cost = found.leave_out(rows) if problem.clean is None else None
            if problem.clean is not None:
                cleaned = list(captions)
                for row in rows:
                    cleaned[row] = problem.clean(captions[row])
                cost = found.repair(cleaned)
            yield Finding(
                problem.id,
                f"{_count(len(rows), 'caption')} of {data.candidates_name} "
                f"{'has' if len(rows) == 1 else 'have'} {problem.description}.",
                len(rows),
                found.show(rows),
                cost,
                problem.advice,
            )
        if not problem.in_references or problem.clean is None:
            continue
        marked = [i for i, text in enumerate(data.references) if problem.find(text)]
        if marked:
            texts = list(data.references)
            for i in marked:
                texts[i] = problem.clean(texts[i])
            changed = Engine(replace(data, references=texts)).run(AuditPipeline(), "cider-d")
            owners = np.searchsorted(data.offsets, marked[:_EXAMPLES], side="right") - 1
            yield Finding(
                f"{problem.id}-in-references",
                f"{_count(len(marked), 'reference')} of {data.references_name} "
                f"{'has' if len(marked) == 1 else 'have'} {problem.description}.",
                len(marked),
                tuple(
                    f"{data.images[int(owner)]}: {_shorten(data.references[i])}"
                    for owner, i in zip(owners, marked, strict=False)
                ),
                changed - found.score,
                problem.advice,
            )


_ENDLESS = """
a an the of with in on and to at by for from near next is are that which or as into over under
while his her their its
"""
_DANGLING = frozenset(_ENDLESS.split())
_DANGLING_SHARE = 0.01


def _find_truncated_problem(found: _Inspection) -> Iterator[Finding]:
    """Find captions that end in a word that cannot end a sentence."""
    rows = [
        row for row, words in enumerate(found.words) if len(words) > 3 and words[-1] in _DANGLING
    ]
    expected = sum(
        bool(words) and len(words) > 3 and words[-1] in _DANGLING for words in found.reference_words
    ) / max(1, len(found.reference_words))
    share = len(rows) / max(1, len(found.words))
    if len(rows) < 3 or share < max(_DANGLING_SHARE, 5 * expected):
        return
    lengths = Counter(len(found.words[row]) for row in rows)
    limit, piled = lengths.most_common(1)[0]
    at = f", {piled:,} of them at {limit} words" if piled > 0.4 * len(rows) else ""
    repaired = list(found.captions)
    for row in rows:
        words = list(found.words[row])
        while words and words[-1] in _DANGLING:
            words.pop()
        repaired[row] = " ".join(words)
    yield Finding(
        "truncated",
        f"{_count(len(rows), 'caption')} end in the middle of a phrase{at}.",
        len(rows),
        found.show(rows),
        found.repair(repaired),
        "Raise the length limit of decoding. Models trained with CIDEr as the reward learn such "
        "endings, too. The cost is that of the incomplete last phrase.",
    )


def _find_character_limit_problem(found: _Inspection) -> Iterator[Finding]:
    """Find captions that all have exactly the maximum number of characters."""
    lengths = np.asarray([len(caption) for caption in found.captions])
    limit = int(lengths.max(initial=0))
    rows = np.flatnonzero(lengths == limit)
    if len(rows) < max(5, 0.03 * len(lengths)) or len(rows) > 0.9 * len(lengths):
        return
    if np.count_nonzero(lengths == limit - 1) * 4 > len(rows):
        return
    yield Finding(
        "character-limit",
        f"{_count(len(rows), 'caption')} have exactly {limit} characters, the maximum: they are "
        "truncated.",
        len(rows),
        found.show(rows.tolist()),
        found.leave_out(rows.tolist()),
        "Remove the limit on characters. The cost is that of these captions.",
    )


def _find_empty_problem(found: _Inspection) -> Iterator[Finding]:
    rows = [row for row, words in enumerate(found.words) if not words]
    if rows:
        yield Finding(
            "empty-captions",
            f"{_count(len(rows), 'caption')} of {found.data.candidates_name} "
            f"{'has' if len(rows) == 1 else 'have'} no words.",
            len(rows),
            found.show(rows),
            found.leave_out(rows),
            "Check why the model wrote nothing; an empty caption scores 0.",
        )
    empty = [i for i, words in enumerate(found.reference_words) if not words]
    if empty:
        owners = np.searchsorted(found.data.offsets, empty[:_EXAMPLES], side="right") - 1
        yield Finding(
            "empty-references",
            f"{_count(len(empty), 'reference')} of {found.data.references_name} "
            f"{'has' if len(empty) == 1 else 'have'} no words.",
            len(empty),
            tuple(str(found.data.images[int(owner)]) for owner in owners),
            None,
            "Remove empty references; nothing can match them.",
        )


_COPIED_SHARE = 0.2


def _find_copies_problem(found: _Inspection) -> Iterator[Finding]:
    data = found.data
    offsets = data.offsets.tolist()
    images = data.row_images[data.first_rows].tolist()
    known = list(map(tuple, found.reference_words))
    rows = [
        row
        for row, (words, image) in enumerate(zip(found.words, images, strict=True))
        if len(words) > 3 and tuple(words) in known[offsets[image] : offsets[image + 1]]
    ]
    if len(rows) < 3 or len(rows) < _COPIED_SHARE * len(found.words):
        return
    yield Finding(
        "references-among-candidates",
        f"{_count(len(rows), 'caption')} of {len(found.words):,} are identical to a reference "
        "of their image.",
        len(rows),
        found.show(rows),
        found.leave_out(rows),
        "Remove human candidates from the references of their images; if a model wrote the "
        "captions, it was trained on the test set. The cost is that of these images.",
    )


_SAME_SHARE = 0.05


def _find_repeats_problem(found: _Inspection) -> Iterator[Finding]:
    """Find one caption that is used for many images."""
    if len(found.words) < _LEAST_ROWS:
        return
    counts = Counter(map(tuple, found.words))
    words, count = counts.most_common(1)[0]
    if count < max(5, _SAME_SHARE * len(found.words)) or not words:
        return
    rows = [row for row, other in enumerate(found.words) if tuple(other) == words]
    yield Finding(
        "one-caption-for-many",
        f"One caption is used for {_count(count, 'image')} of {len(found.words):,}; there are "
        f"{_count(len(counts), 'distinct caption')}.",
        count,
        found.show(rows),
        found.leave_out(rows),
        "Check whether the model receives the image, or whether a default was written. The cost "
        "is that of these captions.",
    )


_BEGINNING_SHARE = 0.4


def _find_beginnings_problem(found: _Inspection) -> Iterator[Finding]:
    """Find a prompt or a phrase at the beginning of most captions."""
    if len(found.words) < _LEAST_ROWS * 2:
        return
    for length in (5, 4, 3):
        counts = Counter(tuple(words[:length]) for words in found.words if len(words) > length)
        if not counts:
            continue
        words, count = counts.most_common(1)[0]
        same = sum(tuple(known[:length]) == words for known in found.reference_words)
        if count < _BEGINNING_SHARE * len(found.words) or same > 0.1 * len(found.reference_words):
            continue
        rows = [row for row, mine in enumerate(found.words) if tuple(mine[:length]) == words]
        repaired = list(found.captions)
        for row in rows:
            repaired[row] = " ".join(found.words[row][length:])
        yield Finding(
            "same-beginning",
            f"{_count(count, 'caption')} of {len(found.words):,} begin with "
            f"“{' '.join(words)}”, unlike the references.",
            count,
            found.show(rows),
            found.repair(repaired),
            "Prompt the model for the caption only, or remove the phrase; it counts as words.",
        )
        return


def _find_lengths_problem(found: _Inspection) -> Iterator[Finding]:
    mine = np.asarray([len(words) for words in found.words], np.float64)
    theirs = float(np.mean([len(words) for words in found.reference_words]))
    if len(mine) < _LEAST_ROWS or mine.mean() < 2 * max(theirs, 1):
        return
    first = [
        re.split(r"(?<=[.!?])\s", caption.strip(), maxsplit=1)[0] for caption in found.captions
    ]
    yield Finding(
        "long-captions",
        f"Captions have {mine.mean():.1f} words on average, references {theirs:.1f}.",
        int(np.count_nonzero(mine > 2 * theirs)),
        found.show(np.argsort(-mine).tolist()),
        found.repair(first),
        "CIDEr-D penalizes lengths that differ from the references': prompt for short captions, "
        f"or report {LENGTH_ROBUST_METRICS}, which are reliable for paragraphs. The cost compares "
        "with scoring first sentences only.",
    )


# -- languages ------------------------------------------------------------------------------------


_SCRIPT_SHARE = 0.05
_UNKNOWN_SHARE = 0.5


def _find_scripts_problem(found: _Inspection) -> Iterator[Finding]:
    data = found.data
    sides = (
        ("captions", data.candidates_name, found.captions),
        ("references", data.references_name, data.references),
    )
    for noun, name, texts in sides:
        others = [
            (i, script)
            for i, script in enumerate(classify_scripts(texts))
            if script not in ("Latin", None)
        ]
        if len(others) < max(1, _SCRIPT_SHARE * len(texts)):
            continue
        script = Counter(script for _, script in others).most_common(1)[0][0]
        by_words = Engine(
            replace(
                data,
                rows=[" ".join(split_words(row)) for row in data.rows],
                references=[" ".join(split_words(row)) for row in data.references],
            )
        ).run(AuditPipeline(splitter="split"), "cider-d")
        yield Finding(
            f"unknown-script-in-{noun}",
            f"{len(others):,} of {len(texts):,} {noun} of {name} are written in a script "
            f"({script}) that the Penn Treebank tokenizer does not support.",
            len(others),
            tuple(_shorten(texts[i]) for i, _ in others[:_EXAMPLES]),
            by_words - found.score,
            f"Score with --language{_name_language(texts)}, or with --tokenizer words.",
        )
        return


def _name_language(texts: Sequence[str]) -> str:
    """Return ` CODE` for the language of captions, `` where it is unknown or not supported."""
    code = scan_captions(texts).language
    return f" {code}" if code in LANGUAGES else " and its code"


def _find_languages_problem(found: _Inspection) -> Iterator[Finding]:
    """Find candidates whose words are mostly in no reference."""
    known = {word for words in found.reference_words for word in words}
    unknown = [[word for word in words if word not in known] for words in found.words]
    total = sum(map(len, found.words))
    unknown_count = sum(map(len, unknown))
    if total < 100 or unknown_count < _UNKNOWN_SHARE * total:
        return
    rows = [
        row for row, words in enumerate(found.words) if words and len(unknown[row]) > len(words) / 2
    ]
    yield Finding(
        "other-language",
        f"{unknown_count / total:.0%} of the words in {found.data.candidates_name} are in no "
        "reference: the languages or the tokenization may differ.",
        len(rows),
        found.show(rows),
        None,
        "Check that captions and references are in the same language.",
    )


_CHECKS: tuple[Callable[[_Inspection], Iterator[Finding]], ...] = (
    _find_missing_problem,
    _find_duplicates_problem,
    _find_shifts_problem,
    _find_swapped_problem,
    _find_text_problems,
    _find_truncated_problem,
    _find_character_limit_problem,
    _find_empty_problem,
    _find_copies_problem,
    _find_repeats_problem,
    _find_beginnings_problem,
    _find_lengths_problem,
    _find_scripts_problem,
    _find_languages_problem,
)
