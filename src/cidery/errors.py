"""Exceptions and warnings.

```
CideryError
├── InputError (ValueError)          captions cannot be scored
│   ├── FormatError                  a file cannot be read; names the file and the place
│   └── MismatchError                ids of candidates and references do not match
├── SettingError (ValueError)        invalid value of a setting
├── FrequenciesError (ValueError)    document frequencies cannot be read or used
├── DataError (ValueError)           compiled data, or their sources, are damaged
├── ProcessError (RuntimeError)      a helper process was killed or could not be started
├── MissingExtraError (ImportError)  an optional package is missing; names the extra
└── PluginError (ImportError)        a plug-in of another package cannot be used

UnreliableWarning (UserWarning)      a score is unreliable
├── InputWarning                     captions look wrong: repeated, empty, with debris
└── LanguageWarning                  the settings do not fit the language of captions
InputNote (UserWarning)              how a file was read, or how ids were matched
SliceWarning (UserWarning)           some ids of slices and images do not match
```

`except CideryError` catches everything that this package raises on purpose. A file that does not
exist or may not be read stays the `OSError` it is.
"""

from __future__ import annotations

import pathlib
import sys
import types
import warnings

_PACKAGE = str(pathlib.Path(__file__).resolve().parent)


class CideryError(Exception):
    """Base class of all exceptions of this package."""


class InputError(CideryError, ValueError):
    """Captions cannot be scored: one is not text, or an image has no references."""


class FormatError(InputError):
    """A file cannot be read.

    The message begins with the file and the place, `results.json, entry 17: …`. Entries, rows and
    lines are counted from 1.
    """


class MismatchError(InputError):
    """The ids of candidates and references do not match."""


class SettingError(CideryError, ValueError):
    """A setting has an invalid value."""


class FrequenciesError(CideryError, ValueError):
    """Document frequencies cannot be read, or do not fit the metric or tokenizer."""


class DataError(CideryError, ValueError):
    """Compiled data, or the files that they are compiled from, cannot be used."""


class ProcessError(CideryError, RuntimeError):
    """A helper process was killed, or could not be started."""


class MissingExtraError(CideryError, ImportError):
    """An optional package is not installed."""

    @classmethod
    def to(cls, purpose: str, *, package: str, extra: str, also: str = "") -> MissingExtraError:
        """Return the error that names the purpose of a package and the extra that installs it.

        `also` is a package that is needed besides the extra.
        """
        command = f"pip install 'cidery[{extra}]' {also}".rstrip()
        return cls(
            f"{package} is needed to {purpose}; install it with: {command}",
            name=package,
        )


class PluginError(CideryError, ImportError):
    """A metric, tokenizer, format, data set or encoder of another package cannot be used."""


class UnreliableWarning(UserWarning):
    """A score is unreliable."""


class InputWarning(UnreliableWarning):
    """Captions look wrong: some are repeated, empty or have debris; `strict` makes it an error."""


class LanguageWarning(UnreliableWarning):
    """The tokenizer, or a metric, does not fit the script or language of captions."""


class InputNote(UserWarning):
    """A file was read, or ids were matched, in a way that is worth knowing."""


class SliceWarning(UserWarning):
    """Some ids of slices and images do not match; unmatched ids are listed."""


class DataWarning(UserWarning):
    """Compiled data had to be built again, or could not be cached."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line that called cidery: the first one outside this package."""
    frame: types.FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level if frame is not None else 2)
