"""Segmenters: packages that cut captions of one language into words, each loaded when asked for.

| name          | language   | packages                       | extra        |
|---------------|------------|--------------------------------|--------------|
| `jieba`       | Chinese    | jieba                          | `chinese`    |
| `pkuseg`      | Chinese    | spacy-pkuseg, and its model    |              |
| `fugashi`     | Japanese   | fugashi, unidic-lite           | `japanese`   |
| `sudachi`     | Japanese   | SudachiPy, SudachiDict-core    |              |
| `janome`      | Japanese   | Janome                         |              |
| `kiwi`        | Korean     | kiwipiepy                      | `korean`     |
| `pythainlp`   | Thai       | pythainlp                      | `thai`       |
| `pyvi`        | Vietnamese | pyvi                           | `vietnamese` |
| `underthesea` | Vietnamese | underthesea                    |              |
| `uax29`       | any        | regex: word boundaries, UAX 29 | `languages`  |

All get captions in one spelling (`clean_caption`); words without a letter or a digit are dropped.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from cidery.errors import DataError, MissingExtraError
from cidery.runtime import (
    can_start_processes,
    count_cores,
    current_progress,
    ignore_progress,
    share_work,
)
from cidery.text.normalization import clean_caption

Cut = Callable[[str], Iterable[str]]

Words = tuple[str, ...]

KEPT = 1 << 17
"""Captions whose words are kept in memory."""
CHUNK = 500
"""Captions that a process cuts before it says how far it is."""
SHARE = 8_000
"""Captions that are worth a process: it takes a second to start and to load a dictionary."""
MOST_PROCESSES = 8
"""Unless more are asked for."""


def _load_jieba() -> Cut:
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)  # it tells how long loading took
    own = jieba.Tokenizer()  # words that a program adds to the shared one do not change scores
    return own.lcut  # type: ignore[no-any-return]


def _load_pkuseg() -> Cut:
    import spacy_pkuseg

    home = Path(os.environ.get("PKUSEG_HOME", "~/.pkuseg")).expanduser()
    model = home / "spacy_ontonotes"
    if not (model / "weights.npz").is_file():
        raise DataError(
            f"pkuseg needs its model in {model}; fetch it once with: "
            "python -c 'import spacy_pkuseg; spacy_pkuseg.pkuseg()'"
        )
    # By its folder: by its name, the package would download it where the archive is gone.
    return spacy_pkuseg.pkuseg(str(model)).cut  # type: ignore[no-any-return]


def _load_fugashi() -> Cut:
    import fugashi
    import unidic_lite

    folder = Path(unidic_lite.DICDIR)
    tagger = fugashi.GenericTagger(f'-Owakati -r "{folder / "dicrc"}" -d "{folder}"')
    return lambda text: [word.surface for word in tagger(text)]


def _load_sudachi() -> Cut:
    import sudachipy

    cutter = sudachipy.Dictionary(dict="core").create()
    return lambda text: [word.surface() for word in cutter.tokenize(text)]


def _load_janome() -> Cut:
    from janome.tokenizer import Tokenizer

    return Tokenizer(wakati=True).tokenize  # type: ignore[no-any-return]


def _load_kiwi() -> Cut:
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1)
    return lambda text: [word.form for word in kiwi.tokenize(text)]


def _load_pythainlp() -> Cut:
    from pythainlp.tokenize import word_tokenize

    return lambda text: word_tokenize(text, engine="newmm", keep_whitespace=False)


def _load_pyvi() -> Cut:
    from pyvi import ViTokenizer

    return lambda text: ViTokenizer.tokenize(text).split()


def _load_underthesea() -> Cut:
    from underthesea import word_tokenize

    return word_tokenize  # type: ignore[no-any-return]


def _load_uax29() -> Cut:
    import regex

    boundary = regex.compile(r"(?w)\b", flags=regex.V1)
    return lambda text: boundary.split(text)


@dataclass(frozen=True)
class Segmenter:
    """A package that cuts captions of a language into words."""

    name: str
    language: str | None
    """Its code; None: any."""
    packages: tuple[str, ...]
    """As PyPI has them."""
    extra: str | None
    load: Callable[[], Cut]

    @property
    def is_installed(self) -> bool:
        """Whether its packages are there; nothing is imported."""
        return all(_find_version(package) for package in self.packages)

    @property
    def origin(self) -> str:
        """Its packages with their versions, as signatures have them."""
        return "+".join(f"{package}-{_find_version(package)}" for package in self.packages)

    def open(self) -> SegmenterCut:
        """Return the function that cuts; a missing package says what to install."""
        missing = [package for package in self.packages if not _find_version(package)]
        if missing and self.extra:
            purpose = f"cut captions with {self.name}"
            raise MissingExtraError.to(purpose, package=missing[0], extra=self.extra)
        if missing:
            raise MissingExtraError(
                f"{missing[0]} is needed to cut captions with {self.name}; install it with: "
                f"pip install {' '.join(self.packages)}",
                name=missing[0],
            )
        return open_segmenter(self.name)


def _find_version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


_ALL = (
    Segmenter("jieba", "zh", ("jieba",), "chinese", _load_jieba),
    Segmenter("pkuseg", "zh", ("spacy-pkuseg",), None, _load_pkuseg),
    Segmenter("fugashi", "ja", ("fugashi", "unidic-lite"), "japanese", _load_fugashi),
    Segmenter("sudachi", "ja", ("SudachiPy", "SudachiDict-core"), None, _load_sudachi),
    Segmenter("janome", "ja", ("Janome",), None, _load_janome),
    Segmenter("kiwi", "ko", ("kiwipiepy",), "korean", _load_kiwi),
    Segmenter("pythainlp", "th", ("pythainlp",), "thai", _load_pythainlp),
    Segmenter("pyvi", "vi", ("pyvi",), "vietnamese", _load_pyvi),
    Segmenter("underthesea", "vi", ("underthesea",), None, _load_underthesea),
    Segmenter("uax29", None, ("regex",), "languages", _load_uax29),
)
SEGMENTERS: Mapping[str, Segmenter] = MappingProxyType({found.name: found for found in _ALL})


class SegmenterCut:
    """A segmenter that is loaded; it cuts a caption once, and is pickled by its name."""

    def __init__(self, name: str, cut: Cut) -> None:
        """Keep what cuts."""
        self.name = name
        self._cut = cut
        self._known: dict[str, Words] = {}

    def __call__(self, caption: str) -> list[str]:
        """Return the words of a caption."""
        return list(self.cut_all([caption], threads=1)[0])

    def cut_all(self, captions: Sequence[str], threads: int = 0) -> list[Words]:
        """Return the words of captions; many are shared with helper processes.

        Each is cut once while this process lives. It is reported how far the work is.
        """
        known = self._known
        new = [caption for caption in dict.fromkeys(captions) if caption not in known]
        if len(known) + len(new) > KEPT:
            known = self._known = {}
            new = list(dict.fromkeys(captions))
        chunks = [new[start : start + CHUNK] for start in range(0, len(new), CHUNK)]
        helpers = count_helpers(len(new), threads)
        progress = current_progress() if len(chunks) > 1 else ignore_progress
        shared = share_work(chunks, self.cut_new, partial(cut_there, self.name), helpers)
        for number, (chunk, cut) in enumerate(zip(chunks, shared, strict=True), start=1):
            known.update(zip(chunk, cut, strict=True))
            progress(f"tokenizing captions with {self.name}", number / len(chunks))
        return [known[caption] for caption in captions]

    def cut_new(self, captions: Sequence[str]) -> list[Words]:
        """Cut captions, whether they were cut before or not."""
        return list(map(self._cut_one, captions))

    def _cut_one(self, caption: str) -> Words:
        caption.encode()  # packages in C fail in many ways on half of a surrogate pair
        words = self._cut(clean_caption(caption))
        return tuple("_".join(word.split()) for word in words if any(map(str.isalnum, word)))

    def __reduce__(self) -> tuple[Callable[[str], SegmenterCut], tuple[str]]:
        return open_segmenter, (self.name,)


def count_helpers(captions: int, threads: int) -> int:
    """Return how many other processes are worth their start: each loads the dictionary."""
    wanted = threads or min(count_cores(), MOST_PROCESSES)
    helpers = max(0, min(wanted, captions // SHARE) - 1)
    if not helpers or find_spec("loky") is None or not can_start_processes():
        return 0
    return helpers


def cut_there(name: str, captions: Sequence[str]) -> list[Words]:
    """Cut captions with the segmenter of that name: for helper processes."""
    return open_segmenter(name).cut_new(captions)


@lru_cache(maxsize=len(_ALL))
def open_segmenter(name: str) -> SegmenterCut:
    """Load a segmenter once per process: dictionaries take seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of code that is not the user's
        return SegmenterCut(name, SEGMENTERS[name].load())
