"""audit_files(): what is suspicious in captions, ids and references, and what it costs."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cidery import _native
from cidery.auditing.material import Material
from cidery.auditing.pipelines import Engine, Pipeline
from cidery.corpus.corpus import Candidates, References
from cidery.corpus.length_mismatch import LENGTH_ROBUST_METRICS
from cidery.runtime.progress import current_progress
from cidery.scoring.tables import without_nan
from cidery.statistics import Floats

_EXAMPLES = 3
_LONGEST_EXAMPLE = 120


@dataclass(frozen=True)
class Finding:
    """Something suspicious in captions, ids or references.

    `cost` is what CIDEr-D would gain by the repair that `advice` names: the score after it minus
    the score as it is. None: there is no repair to try.
    """

    id: str
    title: str
    """What was found, in a sentence."""
    count: int
    """How many captions or images are concerned."""
    examples: tuple[str, ...]
    """A few of them, each with its image."""
    cost: float | None
    advice: str

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return asdict(self) | {"examples": list(self.examples)}


@dataclass(frozen=True)
class FileAudit:
    """What was looked at and what was found.

    ```python
    found = cidery.audit_files(candidates, references)
    [finding.title for finding in found.findings]
    ```
    """

    images: int
    """Images that were scored."""
    captions: int
    """Rows of candidates."""
    references: int
    score: float
    """CIDEr-D of the captions as they are."""
    findings: tuple[Finding, ...]
    """The most expensive first."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        content = asdict(self) | {"findings": [finding.to_dict() for finding in self.findings]}
        return without_nan(content)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        if not self.findings:
            return f"nothing suspicious in {self.captions} captions of {self.images} images"
        return "\n".join(finding.title for finding in self.findings)


def audit_files(
    candidates: Candidates,
    references: References,
    *,
    candidates_name: str = "results.json",
    references_name: str = "references.json",
) -> FileAudit:
    """Look for what is suspicious in captions, ids and references, and for what it costs.

    Args:
        candidates: as `score` takes them; images without references are a finding.
        references: as `score` takes them; images without candidates are a finding.
        candidates_name: what sentences call the candidates, for instance their file.
        references_name: what sentences call the references.

    ```python
    cidery.audit_files({"a": "a dog <eos>"}, {"a": ["a dog runs"]}).findings[0].id
    ```
    """
    material = Material.build(candidates, references, candidates_name, references_name)
    inspection = _Inspection(material)
    report = current_progress()
    found: list[Finding] = []
    for number, look in enumerate(_LOOKS):
        report("looking at captions", number / len(_LOOKS))
        found += look(inspection)
    found.sort(key=lambda finding: -abs(finding.cost or 0.0))
    return FileAudit(
        images=len(material.described),
        captions=len(material.rows) + len(material.strangers),
        references=len(material.references),
        score=inspection.score,
        findings=tuple(found),
    )


class _Inspection:
    """Captions, their words and their scores."""

    def __init__(self, material: Material) -> None:
        self.material = material

    @cached_property
    def engine(self) -> Engine:
        return Engine(self.material)

    @cached_property
    def score(self) -> float:
        """CIDEr-D as it is."""
        return self.engine.run(Pipeline(), "cider-d")

    def score_rows(self, **changes: str) -> Floats:
        """Return CIDEr-D of each scored caption, in the order of the file."""
        pipeline = replace(Pipeline(), **changes)  # type: ignore[arg-type]
        return self.engine.open(pipeline).measure_each(pipeline, "cider-d")

    @property
    def captions(self) -> list[str]:
        """The captions that are scored."""
        return [self.material.rows[row] for row in self.material.first_rows.tolist()]

    @cached_property
    def words(self) -> list[list[str]]:
        """Their words."""
        return _native.ptb_tokens(self.captions)

    @cached_property
    def reference_words(self) -> list[list[str]]:
        return _native.ptb_tokens(self.material.references)

    def image(self, row: int) -> str:
        """Return the name of the image of a scored caption."""
        place = self.material.row_images[self.material.first_rows[row]]
        return str(self.material.images[int(place)])

    def show(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return some of the captions with their images."""
        chosen = list(rows)[:_EXAMPLES]
        captions = self.captions
        return tuple(f"{self.image(row)}: {_shorten(captions[row])}" for row in chosen)

    def repair(self, captions: Sequence[str]) -> float:
        """Return how much CIDEr-D gains when the scored captions are replaced."""
        rows = list(self.material.rows)
        for row, caption in zip(self.material.first_rows.tolist(), captions, strict=True):
            rows[row] = caption
        changed = replace(self.material, rows=rows)
        return Engine(changed).run(Pipeline(), "cider-d") - self.score

    def leave_out(self, rows: Sequence[int]) -> float | None:
        """Return how much CIDEr-D gains without some captions and their images."""
        each = self.score_rows()
        kept = np.delete(each, rows)
        return float(kept.mean()) - self.score if len(kept) else None


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_EXAMPLE else f"{plain[: _LONGEST_EXAMPLE - 1]}…"


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


# -- ids ------------------------------------------------------------------------------------------


def _look_for_missing(found: _Inspection) -> Iterator[Finding]:
    material = found.material
    if len(material.missing) and material.lacks_images:
        count = len(material.missing)
        shown = [str(material.images[i]) for i in material.missing[:_EXAMPLES].tolist()]
        empty = found.engine.run(Pipeline(images="empty"), "cider-d")
        yield Finding(
            "missing-images",
            f"{_count(count, 'image')} of {len(material.images):,} have no caption in "
            f"{material.candidates_name}.",
            count,
            tuple(shown),
            empty - found.score,
            "Caption all images. The cost is that of counting them as 0; left out, they make the "
            "score one of other images than those of the test set.",
        )
    if material.strangers:
        count = len(material.strangers)
        yield Finding(
            "unknown-images",
            f"{_count(count, 'image')} of {material.candidates_name} "
            f"{'has' if count == 1 else 'have'} no references.",
            count,
            tuple(map(str, material.strangers[:_EXAMPLES])),
            None,
            "Check the ids: they cannot be scored. Perhaps the references are of another split.",
        )


def _look_for_duplicates(found: _Inspection) -> Iterator[Finding]:
    material = found.material
    if not material.has_duplicates:
        return
    twice = np.flatnonzero(material.rows_per_image > 1)
    counted = found.engine.run(Pipeline(images="all"), "cider-d")
    shown = []
    for image in twice[:_EXAMPLES].tolist():
        rows = np.flatnonzero(material.row_images == image)
        texts = " | ".join(_shorten(material.rows[row]) for row in rows[:2].tolist())
        shown.append(f"{material.images[image]}: {texts}")
    yield Finding(
        "duplicated-images",
        f"{_count(len(twice), 'image')} {'has' if len(twice) == 1 else 'have'} several captions in "
        f"{material.candidates_name}, others one.",
        len(twice),
        tuple(shown),
        found.score - counted,
        "Keep one caption per image. The cost is that of counting every row instead of the first "
        "of each image.",
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


def _look_for_shifts(found: _Inspection) -> Iterator[Finding]:
    """Compare captions with the images beside theirs; a run of rows may be shifted."""
    material = found.material
    if len(material.first_rows) < _LEAST_ROWS or len(material.described) < _LEAST_ROWS:
        return
    own = found.score_rows()
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
        f"Captions{where} fit better to {_PAIRINGS[pairing]}: ids are shifted.",
        end - start,
        found.show(range(start, end)),
        gain / len(own),
        "Compare a few captions with their images, and look for a line that was lost or added "
        f"{'at the start' if whole else f'at row {start + 1:,}'} when ids and captions were put "
        "together.",
    )


def _score_shifted(found: _Inspection, pairing: str) -> Floats | None:
    """Return the score that each row would have with another image, by row."""
    pipeline = Pipeline(pairing=pairing)
    return found.engine.open(pipeline).measure_by_row(pipeline, "cider-d")


def _find_run(gains: Floats) -> tuple[float, int, int]:
    """Return the largest sum of consecutive gains, and from where to where it is."""
    best, best_start, best_end, total, start = 0.0, 0, 0, 0.0, 0
    for place, gain in enumerate(gains.tolist()):
        if total <= 0:
            total, start = 0.0, place
        total += gain
        if total > best:
            best, best_start, best_end = total, start, place + 1
    return best, best_start, best_end


def _look_for_swapped(found: _Inspection) -> Iterator[Finding]:
    """People's captions differ more than machines': references that repeat are suspicious."""
    material = found.material
    if int(material.reference_counts.max()) > 1 or len(material.images) < _LEAST_ROWS * 4:
        return
    rows = _native.ptb_tokens(material.rows)
    mine = len(set(map(tuple, rows))) / len(rows)
    theirs = len(set(map(tuple, found.reference_words))) / len(found.reference_words)
    several = bool(material.rows_per_image.max() > 1)
    if not ((several and mine >= theirs) or mine > theirs + 0.1):
        return
    yield Finding(
        "swapped",
        f"{material.candidates_name} looks like references and {material.references_name} like "
        "results: "
        + (
            "it has several captions per image, the other one each."
            if several
            else f"{1 - theirs:.0%} of the references repeat another, {1 - mine:.0%} of the "
            "candidates."
        ),
        len(material.images),
        found.show(range(len(material.first_rows))),
        found.engine.run(Pipeline(pairing="swapped"), "cider-d") - found.score,
        "Exchange the two files: results come first.",
    )


# -- captions -------------------------------------------------------------------------------------

_SPECIAL = re.compile(
    r"<\|[^|<>]{1,30}\|>|</?(?:s|bos|eos|sos|start|end|unk|pad|sep|cls|mask|image|br|p)>|"
    r"\[(?:SEP|CLS|PAD|UNK|MASK|BOS|EOS|END|INST|/INST)\]|\b(?:startseq|endseq|UNK|EOS|BOS)\b|"
    r"(?<=\w)@@(?=\s|$)|(?:^|(?<=\s))##(?=\w)|[\u0120\u2581]",
)


def _clean_special(caption: str) -> str:
    return " ".join(_SPECIAL.sub(" ", caption.replace("@@ ", "").replace(" ##", "")).split())


def _find_special(caption: str) -> bool:
    return _SPECIAL.search(caption) is not None


_MOJIBAKE = re.compile(
    "[\u00c2\u00c3\u00e2\u00f0\u00d0\u00d1][\u0080-\u00bf\u0152-\u02dc\u2010-\u2122]"
)


def _find_mojibake(caption: str) -> bool:
    return "\ufffd" in caption or (
        not caption.isascii()
        and _MOJIBAKE.search(caption) is not None
        and _decode_again(caption) != caption
    )


def _decode_again(caption: str) -> str:
    """Undo one wrong decoding of UTF-8, where that is possible."""
    for encoding in ("cp1252", "latin-1"):
        try:
            return caption.encode(encoding).decode()
        except UnicodeError:
            continue
    return caption.replace("\ufffd", " ")


_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,5}|#x[0-9a-f]{2,4});|\\u[0-9a-f]{4}|\\n")


def _find_escapes(caption: str) -> bool:
    return ("&" in caption or "\\" in caption) and _ENTITY.search(caption) is not None


def _undo_escapes(caption: str) -> str:
    plain = html.unescape(caption).replace("\\n", " ")
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), plain)


@dataclass(frozen=True)
class _Blemish:
    """Something in the text of captions that can be found and removed."""

    id: str
    what: str
    find: Callable[[str], bool]
    clean: Callable[[str], str]
    advice: str


_BLEMISHES = (
    _Blemish(
        "special-tokens",
        "special tokens, such as <eos>",
        _find_special,
        _clean_special,
        "Remove them before scoring: they count as words.",
    ),
    _Blemish(
        "mojibake",
        "wrongly decoded text (mojibake)",
        _find_mojibake,
        _decode_again,
        "Read and write the file as UTF-8.",
    ),
    _Blemish(
        "escapes",
        "escapes that were not undone, such as &amp; or \\n",
        _find_escapes,
        _undo_escapes,
        "Undo them before scoring: they count as words.",
    ),
)


def _look_for_blemishes(found: _Inspection) -> Iterator[Finding]:
    material = found.material
    for blemish in _BLEMISHES:
        captions = found.captions
        rows = [row for row, caption in enumerate(captions) if blemish.find(caption)]
        if rows:
            cleaned = list(captions)
            for row in rows:
                cleaned[row] = blemish.clean(captions[row])
            yield Finding(
                blemish.id,
                f"{_count(len(rows), 'caption')} of {material.candidates_name} "
                f"{'has' if len(rows) == 1 else 'have'} {blemish.what}.",
                len(rows),
                found.show(rows),
                found.repair(cleaned),
                blemish.advice,
            )
        marked = [i for i, text in enumerate(material.references) if blemish.find(text)]
        if marked:
            texts = list(material.references)
            for i in marked:
                texts[i] = blemish.clean(texts[i])
            changed = Engine(replace(material, references=texts)).run(Pipeline(), "cider-d")
            owners = np.searchsorted(material.offsets, marked[:_EXAMPLES], side="right") - 1
            yield Finding(
                f"{blemish.id}-in-references",
                f"{_count(len(marked), 'reference')} of {material.references_name} "
                f"{'has' if len(marked) == 1 else 'have'} {blemish.what}.",
                len(marked),
                tuple(
                    f"{material.images[int(owner)]}: {_shorten(material.references[i])}"
                    for owner, i in zip(owners, marked, strict=False)
                ),
                changed - found.score,
                blemish.advice,
            )


_ENDLESS = """
a an the of with in on and to at by for from near next is are that which or as into over under
while his her their its
"""
_DANGLING = frozenset(_ENDLESS.split())
_DANGLING_SHARE = 0.01


def _look_for_truncated(found: _Inspection) -> Iterator[Finding]:
    """Captions that end in a word that cannot end one were cut off."""
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
        "Raise the length limit of decoding; models trained with CIDEr as the reward learn such "
        "ends, too. The cost is that of the words that hang at the end.",
    )


def _look_for_character_limit(found: _Inspection) -> Iterator[Finding]:
    """Captions that are all exactly as long as the longest were cut at so many characters."""
    lengths = np.asarray([len(caption) for caption in found.captions])
    limit = int(lengths.max(initial=0))
    rows = np.flatnonzero(lengths == limit)
    if len(rows) < max(5, 0.03 * len(lengths)) or len(rows) > 0.9 * len(lengths):
        return
    if np.count_nonzero(lengths == limit - 1) * 4 > len(rows):
        return
    yield Finding(
        "character-limit",
        f"{_count(len(rows), 'caption')} have exactly {limit} characters, the most of all: they "
        "were cut off.",
        len(rows),
        found.show(rows.tolist()),
        found.leave_out(rows.tolist()),
        "Do not limit the number of characters. The cost is that of these captions.",
    )


def _look_for_empty(found: _Inspection) -> Iterator[Finding]:
    rows = [row for row, words in enumerate(found.words) if not words]
    if rows:
        yield Finding(
            "empty-captions",
            f"{_count(len(rows), 'caption')} of {found.material.candidates_name} "
            f"{'has' if len(rows) == 1 else 'have'} no words.",
            len(rows),
            found.show(rows),
            found.leave_out(rows),
            "Look why the model gave nothing: an empty caption scores 0.",
        )
    empty = [i for i, words in enumerate(found.reference_words) if not words]
    if empty:
        owners = np.searchsorted(found.material.offsets, empty[:_EXAMPLES], side="right") - 1
        yield Finding(
            "empty-references",
            f"{_count(len(empty), 'reference')} of {found.material.references_name} "
            f"{'has' if len(empty) == 1 else 'have'} no words.",
            len(empty),
            tuple(str(found.material.images[int(owner)]) for owner in owners),
            None,
            "Remove empty references: nothing can match them.",
        )


_COPIED_SHARE = 0.2


def _look_for_copies(found: _Inspection) -> Iterator[Finding]:
    material = found.material
    offsets = material.offsets.tolist()
    images = material.row_images[material.first_rows].tolist()
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
        f"{_count(len(rows), 'caption')} of {len(found.words):,} say word for word what a "
        "reference of the image says.",
        len(rows),
        found.show(rows),
        found.leave_out(rows),
        "Leave a candidate that a person wrote out of its image's references; if a model wrote "
        "them, it has seen the test set. The cost is that of these images.",
    )


_SAME_SHARE = 0.05


def _look_for_repeats(found: _Inspection) -> Iterator[Finding]:
    """One caption for many images."""
    if len(found.words) < _LEAST_ROWS:
        return
    counts = Counter(map(tuple, found.words))
    words, count = counts.most_common(1)[0]
    if count < max(5, _SAME_SHARE * len(found.words)) or not words:
        return
    rows = [row for row, other in enumerate(found.words) if tuple(other) == words]
    yield Finding(
        "one-caption-for-many",
        f"One caption stands for {_count(count, 'image')} of {len(found.words):,}; there are "
        f"{_count(len(counts), 'different caption')}.",
        count,
        found.show(rows),
        found.leave_out(rows),
        "Look whether the model sees the image, or whether a default was written. The cost is that "
        "of these captions.",
    )


_BEGINNING_SHARE = 0.4


def _look_for_beginnings(found: _Inspection) -> Iterator[Finding]:
    """A prompt, or a phrase that the model says before all captions."""
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
            f"“{' '.join(words)}”, as hardly a reference does.",
            count,
            found.show(rows),
            found.repair(repaired),
            "Ask the model for the caption alone, or remove the phrase: it counts as words.",
        )
        return


def _look_for_lengths(found: _Inspection) -> Iterator[Finding]:
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
        "CIDEr-D punishes lengths that differ from the references': ask for short captions, or "
        f"report {LENGTH_ROBUST_METRICS}, which rank paragraphs reliably. The gain is that "
        "of scoring first sentences only.",
    )


# -- languages ------------------------------------------------------------------------------------


def _find_script(text: str) -> str:
    """Return the script of most letters: the first word of their Unicode names."""
    counts = Counter(
        unicodedata.name(sign, "?").split(" ", 1)[0] for sign in text if sign.isalpha()
    )
    return counts.most_common(1)[0][0] if counts else ""


_SCRIPT_SHARE = 0.05
_UNKNOWN_SHARE = 0.5


def _look_for_scripts(found: _Inspection) -> Iterator[Finding]:
    material = found.material
    sides = (
        ("captions", material.candidates_name, found.captions),
        ("references", material.references_name, material.references),
    )
    for noun, name, texts in sides:
        foreign = [
            (i, script)
            for i, text in enumerate(texts)
            if not text.isascii() and (script := _find_script(text)) not in ("LATIN", "")
        ]
        if len(foreign) < max(1, _SCRIPT_SHARE * len(texts)):
            continue
        script = Counter(script for _, script in foreign).most_common(1)[0][0]
        by_words = Engine(
            replace(
                material,
                rows=[" ".join(_cut(row)) for row in material.rows],
                references=[" ".join(_cut(row)) for row in material.references],
            )
        ).run(Pipeline(text="split"), "cider-d")
        yield Finding(
            f"unknown-script-in-{noun}",
            f"{len(foreign):,} of {len(texts):,} {noun} of {name} are written in a script "
            f"({script.title()}) that the Penn Treebank tokenizer does not know.",
            len(foreign),
            tuple(_shorten(texts[i]) for i, _ in foreign[:_EXAMPLES]),
            by_words - found.score,
            "Score with --language, such as --language zh, or with --tokenizer words.",
        )
        return


def _cut(text: str) -> list[str]:
    from cidery.text.tokenizers import split_words

    return split_words(text)


def _look_for_languages(found: _Inspection) -> Iterator[Finding]:
    """Words of the candidates that no reference has, in number: another language."""
    known = {word for words in found.reference_words for word in words}
    unknown = [[word for word in words if word not in known] for words in found.words]
    total = sum(map(len, found.words))
    strange = sum(map(len, unknown))
    if total < 100 or strange < _UNKNOWN_SHARE * total:
        return
    rows = [
        row for row, words in enumerate(found.words) if words and len(unknown[row]) > len(words) / 2
    ]
    yield Finding(
        "other-language",
        f"{strange / total:.0%} of the words in {found.material.candidates_name} are in no "
        "reference: the languages may differ, or the words are not cut alike.",
        len(rows),
        found.show(rows),
        None,
        "Check that captions and references have the same language and spelling.",
    )


_LOOKS: tuple[Callable[[_Inspection], Iterator[Finding]], ...] = (
    _look_for_missing,
    _look_for_duplicates,
    _look_for_shifts,
    _look_for_swapped,
    _look_for_blemishes,
    _look_for_truncated,
    _look_for_character_limit,
    _look_for_empty,
    _look_for_copies,
    _look_for_repeats,
    _look_for_beginnings,
    _look_for_lengths,
    _look_for_scripts,
    _look_for_languages,
)
