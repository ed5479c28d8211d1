"""Files of a model's weights: safetensors, or PyTorch's pickles."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cidery.errors import DataError, MissingExtraError

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
_KINDS = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "BF16": "<u2"}


def find_weights(folder: Path) -> Path:
    """Return the file of weights in a model folder."""
    for name in (SAFE, PICKLED):
        if (folder / name).is_file():
            return folder / name
    raise DataError(
        f"{folder} holds neither {SAFE} nor {PICKLED}; an encoder is the folder of a model as "
        "Hugging Face lays it out"
    )


def read_arrays(folder: Path) -> Mapping[str, np.ndarray]:
    """Return all weights by name."""
    path = find_weights(folder)
    return _read_safe(path) if path.name == SAFE else _read_pickled(path)


def _read_safe(path: Path) -> dict[str, np.ndarray]:
    """Map a safetensors file: the length of a JSON header, the header, then the numbers."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        begin = 8 + int.from_bytes(content[:8], "little")
        header: dict[str, Any] = json.loads(content[8:begin])
        arrays = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in _KINDS:
                continue
            first, last = entry["data_offsets"]
            numbers = np.frombuffer(memoryview(content)[begin + first : begin + last], np.uint8)
            array = numbers.view(_KINDS[entry["dtype"]])
            if entry["dtype"] == "BF16":  # the upper half of a float32
                array = (array.astype("<u4") << 16).view("<f4")
            arrays[name] = array.reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"{path} is damaged: {error}") from error
    return arrays


def _read_pickled(path: Path) -> dict[str, np.ndarray]:
    try:
        import torch
    except ImportError:
        raise MissingExtraError.to(f"read {path.name}", package="torch", extra="torch") from None
    try:
        # weights_only: a pickle could run any code otherwise.
        loaded = torch.load(path, map_location="cpu", weights_only=True)
        return {name: tensor.float().numpy() for name, tensor in loaded.items()}
    except Exception as error:  # what damage makes of a pickle is anything
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{path} cannot be read: {reason}") from error


def hash_weights(folder: Path) -> str:
    """Return the SHA-256 of the weights."""
    path = find_weights(folder)
    status = path.stat()
    return _hash_unchanged(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _hash_unchanged(path: Path, modified: int, size: int) -> str:  # noqa: ARG001
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
