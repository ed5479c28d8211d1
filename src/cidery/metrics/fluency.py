"""Faults of fluency in captions of sounds: a broken end, and words said again.

Machine captions of sounds break in few ways (Zhou et al., ICASSP 2022): the end is missing, or an
event is repeated. docs/metrics/fense.md has what was tried on people's labels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cidery.metrics.base import TokenizedCandidates, TokenizedReferences, require_between
from cidery.metrics.contextual.wording import OPENING_WORDS
from cidery.runtime.workspace import Workspace
from cidery.statistics import Floats
from cidery.text.tokenizers import TokenizedCaptions

FREE = OPENING_WORDS | {"it", "they", "there", "other", "then", "followed", "background", "before"}
"""Words that may be said again."""
PARTICLES = frozenset(["behind", "between", "by", "in", "on", "through"])
"""Words that may also end a caption: `a car passes by`, `an engine turns on`."""
RULES = 2
"""The version of these rules, for signatures."""


def is_broken(words: Sequence[str]) -> bool:
    """Tell whether a caption ends on a word after which it has to go on.

    ```python
    is_broken(["a", "dog", "barks", "and"])   # True
    ```
    """
    if not words or words[-1] not in OPENING_WORDS:
        return False
    last = tuple(words[-2:])
    return last == ("followed", "by") or (words[-1] not in PARTICLES and last != ("one", "another"))


def share_repeated(words: Sequence[str]) -> float:
    """Return the share of words of content that were said before.

    ```python
    share_repeated(["a", "dog", "barks", "and", "a", "dog", "howls"])   # 0.25
    ```
    """
    content = [word for word in words if word not in FREE]
    return 1 - len(set(content)) / len(content) if content else 0.0


def measure_faults(work: Workspace, captions: TokenizedCaptions) -> Floats:  # noqa: ARG001
    """Return whether each caption is broken, and the share repeated: float64[captions, 2]."""
    words = captions.captions.tokens()
    faults = [(float(is_broken(caption)), share_repeated(caption)) for caption in words]
    return np.asarray(faults, np.float64).reshape(-1, 2)


def forgive_faults(work: Workspace, references: TokenizedReferences) -> Floats:
    """Return the largest faults of each image's references: float64[images, 2].

    What people say is no fault: a caption loses only by what it has beyond that.
    """
    faults = measure_faults(work, references.captions)
    starts = references.image_offsets[:-1].astype(np.int64)
    forgiven: Floats = np.maximum.reduceat(faults, starts)
    return forgiven


def find_faults(candidates: TokenizedCandidates, forgiven: Floats, work: Workspace) -> Floats:
    """Return the faults of captions beyond those of their references: float64[captions, 2]."""
    faults = work.once(measure_faults, candidates.captions)
    left: Floats = np.maximum(0.0, faults - forgiven[candidates.images])
    return left


def weigh_faults(faults: Floats, penalty: float, repetition: float) -> Floats:
    """Return what is left of each score: (1 - penalty·broken)·(1 - repetition·repeated)."""
    left: Floats = (1 - penalty * faults[:, 0]) * (1 - repetition * faults[:, 1])
    return left


def check_weights(penalty: float, repetition: float) -> None:
    """Raise a SettingError unless both lie between 0 and 1."""
    require_between("penalty", penalty, 0, 1)
    require_between("repetition", repetition, 0, 1)
