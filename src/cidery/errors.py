"""What can go wrong, as one tree.

```
CideryError
├── InputError (ValueError)          what was given cannot be scored
│   ├── FormatError                  a file cannot be understood; says which file and where in it
│   └── MismatchError                the ids of candidates and references do not fit together
├── SettingError (ValueError)        a setting has a value it cannot have
├── FrequenciesError (ValueError)    document frequencies cannot be read, or do not fit
├── DataError (ValueError)           compiled data, or what they are compiled from, are damaged
├── ProcessError (RuntimeError)      a helper process was killed or could not be started
├── MissingExtraError (ImportError)  an optional package is missing; says which extra brings it
└── PluginError (ImportError)        what another package adds to cidery cannot be used

UnreliableWarning (UserWarning)      a number can be computed, but should not be trusted
└── LanguageWarning                  captions are written in a way that the settings do not fit
SliceWarning (UserWarning)           slices and images do not fit together in every respect
```

`except CideryError` catches everything that this package raises on purpose. A file that does not
exist or may not be read stays the `OSError` it is.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).resolve().parent)


class CideryError(Exception):
    """The root of everything that this package raises on purpose."""


class InputError(CideryError, ValueError):
    """What was given cannot be scored: a caption that is not text, an image without references."""


class FormatError(InputError):
    """A file cannot be understood.

    The message begins with the file and the place, `results.json, entry 17: …`. Entries, rows and
    lines are counted from 1.
    """


class MismatchError(InputError):
    """The ids of candidates and references do not fit together."""


class SettingError(CideryError, ValueError):
    """A setting has a value that it cannot have."""


class FrequenciesError(CideryError, ValueError):
    """Document frequencies cannot be read, or do not fit what they are used for."""


class DataError(CideryError, ValueError):
    """Compiled data, or the files that they are compiled from, cannot be used."""


class ProcessError(CideryError, RuntimeError):
    """A helper process was killed, or could not be started."""


class MissingExtraError(CideryError, ImportError):
    """An optional package is not installed."""

    @classmethod
    def to(cls, purpose: str, *, package: str, extra: str) -> MissingExtraError:
        """Return the error that says what the package is for and which extra installs it."""
        return cls(
            f"{package} is needed to {purpose}; install it with: pip install 'cidery[{extra}]'",
            name=package,
        )


class PluginError(CideryError, ImportError):
    """A metric, tokenizer, format, data set or encoder of another package cannot be used."""


class UnreliableWarning(UserWarning):
    """A number can be computed, but should not be trusted."""


class LanguageWarning(UnreliableWarning):
    """Captions are written in a way that the tokenizer, or a metric, cannot cope with."""


class SliceWarning(UserWarning):
    """Slices and images do not fit together in every respect: what is left over is said."""


class DataWarning(UserWarning):
    """Compiled data had to be built again, or could not be kept."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called cidery: the first one outside this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level if frame is not None else 2)
