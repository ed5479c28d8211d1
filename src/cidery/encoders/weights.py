"""Weights of a model folder: safetensors or PyTorch pickles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cidery.errors import DataError, MissingExtraError
from cidery.storage import hash_file

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
_KINDS = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}
"""Types of weights; other arrays, such as position ids, are ignored."""


def find_weights(folder: Path) -> Path:
    """Return the weights file of a model folder."""
    for name in (SAFE, PICKLED):
        if (folder / name).is_file():
            return folder / name
    raise DataError(
        f"no {SAFE} or {PICKLED} in {folder}; expected a model folder in Hugging Face's layout"
    )


def read_arrays(folder: Path) -> Mapping[str, np.ndarray]:
    """Return all weights by name."""
    path = find_weights(folder)
    return _read_safe(path) if path.name == SAFE else _read_pickled(path)


def _read_safe(path: Path) -> dict[str, np.ndarray]:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise MissingExtraError.to(
            f"read {path.name}", package="safetensors", extra="contextual"
        ) from None
    try:
        with safe_open(path, "np") as file:
            kinds = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
            if "BF16" in kinds.values():
                return _widen_brain_floats(path)
            return {name: file.get_tensor(name) for name in kinds if kinds[name] in _KINDS}
    except (SafetensorError, TypeError, ValueError) as error:
        raise DataError(f"{path} is damaged: {error}") from error


def _widen_brain_floats(path: Path) -> dict[str, np.ndarray]:
    """Read a file with bfloat16, which NumPy does not have: it is the upper half of a float32."""
    from safetensors import deserialize

    arrays = {}
    for name, entry in deserialize(path.read_bytes()):  # type: ignore[no-untyped-call]
        if entry["dtype"] == "BF16":
            upper = np.frombuffer(entry["data"], "<u2").astype("<u4")
            arrays[name] = (upper << 16).view("<f4").reshape(entry["shape"])
        elif entry["dtype"] in _KINDS:
            array = np.frombuffer(entry["data"], _KINDS[entry["dtype"]])
            arrays[name] = array.reshape(entry["shape"])
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
    except Exception as error:  # a damaged pickle may raise any type
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(f"{path} cannot be read: {reason}") from error


def hash_weights(folder: Path) -> str:
    """Return the SHA-256 of the weights."""
    return hash_file(find_weights(folder))
