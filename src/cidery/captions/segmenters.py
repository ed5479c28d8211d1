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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from cidery.captions.cleaning import clean_caption
from cidery.errors import DataError, MissingExtraError

Cut = Callable[[str], Iterable[str]]


def _load_jieba() -> Cut:
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)  # it tells how long loading took
    own = jieba.Tokenizer()  # words that a program adds to the shared one do not change scores
    return own.lcut  # type: ignore[no-any-return]


def _load_pkuseg() -> Cut:
    import spacy_pkuseg

    home = Path(os.environ.get("PKUSEG_HOME", "~/.pkuseg")).expanduser()
    if not (home / "spacy_ontonotes").is_dir():  # the package would download it
        raise DataError(
            f"pkuseg needs its model in {home / 'spacy_ontonotes'}; fetch it once with: "
            "python -c 'import spacy_pkuseg; spacy_pkuseg.pkuseg()'"
        )
    return spacy_pkuseg.pkuseg().cut  # type: ignore[no-any-return]


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

    def open(self) -> Callable[[str], list[str]]:
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
        return _open(self.name)


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


@lru_cache(maxsize=len(_ALL))
def _open(name: str) -> Callable[[str], list[str]]:
    """Load a segmenter once per process: dictionaries take seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of code that is not the user's
        cut = SEGMENTERS[name].load()

    @lru_cache(maxsize=1 << 17)
    def cut_cleaned(caption: str) -> tuple[str, ...]:
        words = cut(clean_caption(caption))
        return tuple("_".join(word.split()) for word in words if any(map(str.isalnum, word)))

    return lambda caption: list(cut_cleaned(caption))
