"""Arrays in NumPy files of users."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from cidery.errors import FormatError

Array = NDArray[Any]


def read_arrays(path: str | os.PathLike[str]) -> Array | dict[str, Array]:
    """Read the array of an .npy file, or the arrays of an .npz file by name.

    Files may come from anyone: arrays of Python objects, which are pickles, are refused.
    """
    with Path(path).open("rb") as stream:
        if not stream.read(6).startswith((b"\x93NUMPY", b"PK")):
            raise FormatError(f"{path}: this is neither an .npy nor an .npz file")
        stream.seek(0)
        try:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded
            return {name: loaded[name] for name in loaded.files}
        except (ValueError, EOFError, BadZipFile, KeyError) as error:
            if "pickle" in str(error):
                raise FormatError(
                    f"{path}: an array has Python objects, which are not read; save numbers and "
                    "texts, such as np.asarray(names, str)"
                ) from None
            raise FormatError(f"{path}: the file is damaged ({error})") from None
