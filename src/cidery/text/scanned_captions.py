"""Captions with facts about their characters, each found once for all checks that need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse
from types import MappingProxyType
from typing import TYPE_CHECKING
from unicodedata import is_normalized, normalize

from cidery import _native
from cidery.text.scripts import Scripts, count_latin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LANGUAGE_SAMPLE = 100
"""Number of captions that py3langid reads, spread evenly over the file."""

MIN_CHARACTERS = 200
"""Minimum length of the text from which py3langid detects a language."""

SCRIPT_LANGUAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "Chinese": ("Chinese", "zh"),
        "Japanese": ("Japanese", "ja"),
        "Hangul": ("Korean", "ko"),
        "Thai": ("Thai", "th"),
        "Lao": ("Lao", "lo"),
        "Khmer": ("Khmer", "km"),
        "Myanmar": ("Burmese", "my"),
        "Tibetan": ("Tibetan", "bo"),
    }
)
"""Scripts of one language: its name and code."""


@dataclass(frozen=True)
class ScriptCount:
    """Number of captions in a script."""

    script: str
    captions: int


class ScannedCaptions(list[str]):
    """List of captions, not to be changed, with facts about their characters.

    ```python
    captions = ScannedCaptions(["a dog", "the dog", "一只狗"])
    captions.non_ascii          # ["一只狗"]
    captions.script_counts[0]   # ScriptCount(script="Latin", captions=2)
    ```
    """

    @cached_property
    def non_ascii(self) -> list[str]:
        """Captions that are not plain ASCII; TypeError where an item is not a string."""
        return [] if _native.are_ascii(self) else list(filterfalse(str.isascii, self))

    @cached_property
    def non_normalized(self) -> list[str]:
        """Captions that are not in Unicode's normal form C."""
        return [caption for caption in self.non_ascii if not is_normalized("NFC", caption)]

    @cached_property
    def normalized(self) -> list[str]:
        """Captions in normal form C; the same list if all are."""
        return [normalize("NFC", caption) for caption in self] if self.non_normalized else self

    @cached_property
    def scripts(self) -> Scripts:
        """Scripts of `non_ascii`."""
        return Scripts.find(self.non_ascii)

    @cached_property
    def script_counts(self) -> tuple[ScriptCount, ...]:
        """Captions by the script of most of their letters, the most frequent first."""
        counts = self.scripts.count()
        if len(self.non_ascii) < len(self) and (latin := count_latin(self)):
            counts["Latin"] += latin
        return tuple(ScriptCount(*item) for item in counts.most_common())

    @cached_property
    def language(self) -> str | None:
        """Code of the language, detected by the script or by py3langid.

        None where the script has several languages, and the extra `languages` is not installed or
        the captions are too short.
        """
        if not self.script_counts:
            return None
        script = self.script_counts[0].script
        if script in SCRIPT_LANGUAGES:
            return SCRIPT_LANGUAGES[script][1]
        try:
            import py3langid
        except ImportError:
            return None
        text = " ".join(sample_evenly(self, LANGUAGE_SAMPLE))
        return str(py3langid.classify(text)[0]) if len(text) >= MIN_CHARACTERS else None

    @cached_property
    def character_counts(self) -> NDArray[np.int64]:
        """Number of characters of each caption: int64[captions]."""
        return _native.text_lengths(self)


def scan_captions(captions: Sequence[str]) -> ScannedCaptions:
    """Return captions that are scanned once; those that were scanned before, unchanged."""
    return captions if isinstance(captions, ScannedCaptions) else ScannedCaptions(captions)


def sample_evenly(captions: Sequence[str], size: int) -> list[str]:
    """Return at most `size` captions, spread evenly over all."""
    step = max(1, -(-len(captions) // size))
    return list(captions[::step])
