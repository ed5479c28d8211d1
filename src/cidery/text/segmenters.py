"""Segmenters: packages that tokenize captions of one language, loaded on demand.

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

Captions are normalized first (`clean_caption`); words without a letter or a digit are dropped.
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

Segment = Callable[[str], Iterable[str]]

Words = tuple[str, ...]

CACHE_SIZE = 1 << 17
"""Maximum number of captions whose words are cached."""
CHUNK_CAPTIONS = 500
"""Captions per task of a helper process."""
CAPTIONS_PER_PROCESS = 8_000
"""Minimum number of captions per process, which takes a second to start."""
MAX_PROCESSES = 8
"""Default maximum number of processes."""


def _load_jieba() -> Segment:
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)  # no messages about loading time
    own = jieba.Tokenizer()  # not the shared one, which programs change
    return own.lcut  # type: ignore[no-any-return]


def _find_pkuseg_model() -> Path:
    home = Path(os.environ.get("PKUSEG_HOME", "~/.pkuseg")).expanduser()
    return home / "spacy_ontonotes"


def _load_pkuseg() -> Segment:
    import spacy_pkuseg

    model = _find_pkuseg_model()
    if not (model / "weights.npz").is_file():
        raise DataError(
            f"pkuseg needs its model in {model}; fetch it once with: "
            "python -c 'import spacy_pkuseg; spacy_pkuseg.pkuseg()'"
        )
    # By its folder: by its name, the package would download it where the archive is gone.
    return spacy_pkuseg.pkuseg(str(model)).cut  # type: ignore[no-any-return]


def _load_fugashi() -> Segment:
    import fugashi
    import unidic_lite

    folder = Path(unidic_lite.DICDIR)
    tagger = fugashi.GenericTagger(f'-Owakati -r "{folder / "dicrc"}" -d "{folder}"')
    return lambda text: [word.surface for word in tagger(text)]


def _load_sudachi() -> Segment:
    import sudachipy

    cutter = sudachipy.Dictionary(dict="core").create()
    return lambda text: [word.surface() for word in cutter.tokenize(text)]


def _load_janome() -> Segment:
    from janome.tokenizer import Tokenizer

    return Tokenizer(wakati=True).tokenize  # type: ignore[no-any-return]


def _load_kiwi() -> Segment:
    from kiwipiepy import Kiwi

    kiwi = Kiwi(num_workers=1)
    return lambda text: [word.form for word in kiwi.tokenize(text)]


def _load_pythainlp() -> Segment:
    from pythainlp.tokenize import word_tokenize

    return lambda text: word_tokenize(text, engine="newmm", keep_whitespace=False)


def _load_pyvi() -> Segment:
    from pyvi import ViTokenizer

    return lambda text: ViTokenizer.tokenize(text).split()


def _load_underthesea() -> Segment:
    from underthesea import word_tokenize

    return word_tokenize  # type: ignore[no-any-return]


def _load_uax29() -> Segment:
    import regex

    boundary = regex.compile(r"(?w)\b", flags=regex.V1)
    return lambda text: boundary.split(text)


@dataclass(frozen=True)
class Segmenter:
    """Package that tokenizes captions of a language."""

    name: str
    language: str | None
    """Code of the language; None: any."""
    packages: tuple[str, ...]
    """Names on PyPI."""
    extra: str | None
    load: Callable[[], Segment]
    find_model: Callable[[], Path] | None = None
    """Function that returns the folder of a model that no package holds."""

    @property
    def is_installed(self) -> bool:
        """True if its packages are installed; nothing is imported."""
        return all(_find_version(package) for package in self.packages)

    @property
    def origin(self) -> str:
        """Packages with their versions and a digest of the model, for signatures."""
        packages = [f"{package}-{_find_version(package)}" for package in self.packages]
        if self.find_model is not None and (folder := self.find_model()).is_dir():
            from cidery.storage import hash_path

            packages.append(f"model-{hash_path(folder)[:12]}")
        return "+".join(packages)

    def open(self) -> LoadedSegmenter:
        """Load the segmenter; raise a MissingExtraError if a package is missing."""
        missing = [package for package in self.packages if not _find_version(package)]
        if missing and self.extra:
            purpose = f"tokenize captions with {self.name}"
            raise MissingExtraError.to(purpose, package=missing[0], extra=self.extra)
        if missing:
            raise MissingExtraError(
                f"{missing[0]} is needed to tokenize captions with {self.name}; install it with: "
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
    Segmenter("pkuseg", "zh", ("spacy-pkuseg",), None, _load_pkuseg, _find_pkuseg_model),
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
"""Segmenters by name."""


class LoadedSegmenter:
    """Segmenter with its data; caches words, and is pickled by name."""

    def __init__(self, name: str, segment: Segment) -> None:
        """Store the function of the package."""
        self.name = name
        self._segment = segment
        self._known: dict[str, Words] = {}

    def __call__(self, caption: str) -> list[str]:
        """Return the words of a caption."""
        return list(self.tokenize_all([caption], threads=1)[0])

    def tokenize_all(self, captions: Sequence[str], threads: int = 0) -> list[Words]:
        """Return the words of captions; helper processes share many captions."""
        known = self._known
        new = [caption for caption in dict.fromkeys(captions) if caption not in known]
        if len(known) + len(new) > CACHE_SIZE:
            known = self._known = {}
            new = list(dict.fromkeys(captions))
        chunks = [
            new[start : start + CHUNK_CAPTIONS] for start in range(0, len(new), CHUNK_CAPTIONS)
        ]
        helpers = count_helpers(len(new), threads)
        progress = current_progress() if len(chunks) > 1 else ignore_progress
        shared = share_work(
            chunks, self.tokenize_new, partial(tokenize_in_helper, self.name), helpers
        )
        for number, (chunk, words) in enumerate(zip(chunks, shared, strict=True), start=1):
            known.update(zip(chunk, words, strict=True))
            progress(f"tokenizing captions with {self.name}", number / len(chunks))
        return [known[caption] for caption in captions]

    def tokenize_new(self, captions: Sequence[str]) -> list[Words]:
        """Tokenize captions without the cache."""
        return list(map(self._tokenize, captions))

    def _tokenize(self, caption: str) -> Words:
        caption.encode()  # packages in C fail in many ways on half of a surrogate pair
        words = self._segment(clean_caption(caption))
        return tuple("_".join(word.split()) for word in words if any(map(str.isalnum, word)))

    def __reduce__(self) -> tuple[Callable[[str], LoadedSegmenter], tuple[str]]:
        return open_segmenter, (self.name,)


def count_helpers(captions: int, threads: int) -> int:
    """Return the number of helper processes; each loads the dictionary."""
    wanted = threads or min(count_cores(), MAX_PROCESSES)
    helpers = max(0, min(wanted, captions // CAPTIONS_PER_PROCESS) - 1)
    if not helpers or find_spec("loky") is None or not can_start_processes():
        return 0
    return helpers


def tokenize_in_helper(name: str, captions: Sequence[str]) -> list[Words]:
    """Tokenize captions with a segmenter, in a helper process."""
    return open_segmenter(name).tokenize_new(captions)


@lru_cache(maxsize=len(_ALL))
def open_segmenter(name: str) -> LoadedSegmenter:
    """Load a segmenter once per process: dictionaries take seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of code that is not the user's
        return LoadedSegmenter(name, SEGMENTERS[name].load())
