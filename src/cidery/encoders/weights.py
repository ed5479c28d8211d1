"""Model folders as Hugging Face lays them out: config.json, weights and a tokenizer."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cidery.encoders.base import Floats32
from cidery.errors import DataError, MissingExtraError

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
_KINDS = {"F32": "<f4", "F16": "<f2", "F64": "<f8", "I64": "<i8"}


@dataclass(frozen=True)
class Naming:
    """Where an architecture keeps what all of them have, below `encoder.layer.N.`."""

    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    gather: str = "attention.output.dense"
    attended: str = "attention.output.LayerNorm"
    first_position: int = 0
    """The row of the table of positions that belongs to the first token."""
    relative: bool = False
    """Whether attention is biased by the distance of tokens."""
    blank: bool = False
    """Whether a word is another token after a blank; then captions begin with one."""


NAMINGS: Mapping[str, Naming] = {
    "bert": Naming(),
    "roberta": Naming(first_position=2, blank=True),
    "mpnet": Naming(
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        gather="attention.attn.o",
        attended="attention.LayerNorm",
        first_position=2,
        relative=True,
    ),
}
"""By `model_type` of config.json."""


@dataclass(frozen=True, eq=False)
class Layer:
    """The arrays of one layer, float32, in the order in which the native encoder takes them."""

    attend: Floats32
    """Query, key and value, one below the other."""
    attend_bias: Floats32
    gather: Floats32
    gather_bias: Floats32
    attended_scale: Floats32
    attended_shift: Floats32
    widen: Floats32
    widen_bias: Floats32
    narrow: Floats32
    narrow_bias: Floats32
    output_scale: Floats32
    output_shift: Floats32


@dataclass(frozen=True, eq=False)
class Model:
    """What an encoder needs of a model folder."""

    folder: Path
    naming: Naming
    heads: int
    epsilon: float
    longest: int
    """Tokens that a caption may have."""
    words: Floats32
    positions: Floats32
    kind: Floats32
    """The embedding of the first kind of token; zeros where the model knows no kinds."""
    scale: Floats32
    shift: Floats32
    layers: tuple[Layer, ...]
    distances: Floats32 | None
    """[buckets, heads], where attention is biased by distance."""


def read_model(folder: Path) -> Model:
    """Read a model folder; DataError says what cannot be used."""
    config = _read_json(folder / "config.json")
    kind = config.get("model_type")
    if kind not in NAMINGS:
        raise DataError(f"{folder}: cannot run {kind!r} models; known: {', '.join(NAMINGS)}")
    activation = config.get("hidden_act", "gelu")
    if activation != "gelu":
        raise DataError(f"{folder}: cannot run models with {activation!r}, only with 'gelu'")
    naming = NAMINGS[kind]
    arrays = _Arrays(folder, read_arrays(folder))
    positions = arrays["embeddings.position_embeddings.weight"]
    limit = _read_json(folder / "tokenizer_config.json", {}).get("model_max_length", 10**9)
    words = arrays["embeddings.word_embeddings.weight"]
    kinds = arrays.get("embeddings.token_type_embeddings.weight")
    return Model(
        folder,
        naming,
        int(config["num_attention_heads"]),
        float(config.get("layer_norm_eps", 1e-12)),
        int(min(len(positions) - naming.first_position, limit)),
        words,
        positions,
        np.zeros(words.shape[1], np.float32) if kinds is None else kinds[0],
        arrays["embeddings.LayerNorm.weight"],
        arrays["embeddings.LayerNorm.bias"],
        tuple(_read_layer(arrays, naming, n) for n in range(int(config["num_hidden_layers"]))),
        arrays["encoder.relative_attention_bias.weight"] if naming.relative else None,
    )


def _read_layer(arrays: _Arrays, naming: Naming, number: int) -> Layer:
    def get(name: str, part: str) -> Floats32:
        return arrays[f"encoder.layer.{number}.{name}.{part}"]

    attend = (naming.query, naming.key, naming.value)
    return Layer(
        *(np.concatenate([get(name, part) for name in attend]) for part in ("weight", "bias")),
        *(
            get(name, part)
            for name in (
                naming.gather,
                naming.attended,
                "intermediate.dense",
                "output.dense",
                "output.LayerNorm",
            )
            for part in ("weight", "bias")
        ),
    )


class _Arrays:
    """Arrays by name, whatever the model that holds the encoder is called."""

    def __init__(self, folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
        old = {"gamma": "weight", "beta": "bias"}  # what BERT's first releases called them
        self._folder = folder
        self._arrays = {
            ".".join(old.get(part, part) for part in name.split(".")): array
            for name, array in arrays.items()
        }
        end = "embeddings.word_embeddings.weight"
        self._prefix = next((n.removesuffix(end) for n in self._arrays if n.endswith(end)), "")

    def get(self, name: str) -> Floats32 | None:
        array = self._arrays.get(self._prefix + name)
        return None if array is None else np.ascontiguousarray(array, np.float32)

    def __getitem__(self, name: str) -> Floats32:
        array = self.get(name)
        if array is None:
            raise DataError(f"{self._folder}: the weights hold no {name}")
        return array


def find_weights(folder: Path) -> Path:
    """Return the file of weights in a model folder."""
    for name in (SAFE, PICKLED):
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} holds neither {SAFE} nor {PICKLED}")


def read_arrays(folder: Path) -> Mapping[str, np.ndarray]:
    """Return all weights by name."""
    path = find_weights(folder)
    return _read_safe(path) if path.name == SAFE else _read_pickled(path)


def _read_safe(path: Path) -> dict[str, np.ndarray]:
    """Map a safetensors file: the length of a JSON header, the header, then the numbers."""
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        begin = 8 + int.from_bytes(content[:8], "little")
        header: dict[str, Any] = json.loads(content[8:begin])
        arrays = {}
        for name, entry in header.items():
            if name == "__metadata__" or entry["dtype"] not in _KINDS:
                continue
            first, last = entry["data_offsets"]
            numbers = np.frombuffer(memoryview(content)[begin + first : begin + last], np.uint8)
            arrays[name] = numbers.view(_KINDS[entry["dtype"]]).reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"{path} is damaged: {error}") from error
    return arrays


def _read_pickled(path: Path) -> dict[str, np.ndarray]:
    try:
        import torch
    except ImportError:
        raise MissingExtraError.to(f"read {path.name}", package="torch", extra="torch") from None
    from pickle import UnpicklingError

    try:
        # weights_only: a pickle could run any code otherwise.
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(f"{path} cannot be read: {reason}") from error
    return {name: tensor.float().numpy() for name, tensor in loaded.items()}


_MISSING = object()


def _read_json(path: Path, default: Any = _MISSING) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if default is _MISSING:
            raise
        return default
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}") from error


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
