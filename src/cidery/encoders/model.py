"""Model folders in Hugging Face's layout: config.json, weights and a tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cidery.encoders.base import Floats32
from cidery.encoders.weights import read_arrays
from cidery.errors import DataError


@dataclass(frozen=True)
class Architecture:
    """Names of an architecture's weights below `encoder.layer.N.`, and its differences."""

    query: str = "attention.self.query"
    key: str = "attention.self.key"
    value: str = "attention.self.value"
    gather: str = "attention.output.dense"
    attended: str = "attention.output.LayerNorm"
    first_position: int = 0
    """Row of the position embeddings of the first token."""
    relative: bool = False
    """True for relative attention bias."""
    leading_space: bool = False
    """True if tokens include the space before a word; then captions begin with a space."""


ARCHITECTURES: Mapping[str, Architecture] = {
    "bert": Architecture(),
    "roberta": Architecture(first_position=2, leading_space=True),
    "xlm-roberta": Architecture(first_position=2),
    "mpnet": Architecture(
        query="attention.attn.q",
        key="attention.attn.k",
        value="attention.attn.v",
        gather="attention.attn.o",
        attended="attention.LayerNorm",
        first_position=2,
        relative=True,
    ),
}
"""Architectures by `model_type` of config.json."""


@dataclass(frozen=True, eq=False)
class Layer:
    """Weights of one layer, float32, in the order of the native encoder's arguments."""

    attend: Floats32
    """Query, key and value, concatenated."""
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
    """Settings and weights of a model folder."""

    folder: Path
    architecture: Architecture
    heads: int
    epsilon: float
    longest: int
    """Maximum number of tokens."""
    words: Floats32
    positions: Floats32
    kind: Floats32
    """Embedding of the first token type; zeros if the model has no token types."""
    scale: Floats32
    shift: Floats32
    layers: tuple[Layer, ...]
    distances: Floats32 | None
    """[buckets, heads] for relative attention bias."""


def read_model(folder: Path) -> Model:
    """Read a model folder; DataError if it is not supported."""
    config = _read_config(folder)
    architecture = ARCHITECTURES[config["model_type"]]
    heads = _read_count(folder, config, "num_attention_heads")
    arrays = _Arrays(folder, read_arrays(folder))
    words = arrays.get("embeddings.word_embeddings.weight", None, None)
    width = words.shape[1]
    positions = arrays.get("embeddings.position_embeddings.weight", None, width)
    kinds = np.zeros((1, width), np.float32)
    if "embeddings.token_type_embeddings.weight" in arrays:
        kinds = arrays.get("embeddings.token_type_embeddings.weight", None, width)
    distances = None
    if architecture.relative:
        distances = arrays.get("encoder.relative_attention_bias.weight", None, heads)
    return Model(
        folder,
        architecture,
        heads,
        float(config["layer_norm_eps"]),
        min(len(positions) - architecture.first_position, _read_limit(folder)),
        words,
        positions,
        kinds[0],
        arrays.get("embeddings.LayerNorm.weight", width),
        arrays.get("embeddings.LayerNorm.bias", width),
        tuple(
            _read_layer(arrays, architecture, number, width)
            for number in range(_read_count(folder, config, "num_hidden_layers"))
        ),
        distances,
    )


def _read_config(folder: Path) -> dict[str, Any]:
    """Read config.json; DataError for unsupported settings."""
    if not (folder / "config.json").is_file():
        raise DataError(
            f"no config.json in {folder}; expected a model folder in Hugging Face's layout"
        )
    config = _read_json(folder / "config.json")
    kind = config.get("model_type")
    if kind not in ARCHITECTURES:
        raise DataError(
            f"{folder}: unsupported model_type {kind!r}; supported: {', '.join(ARCHITECTURES)}"
        )
    for setting, known in {"hidden_act": "gelu", "position_embedding_type": "absolute"}.items():
        if config.get(setting, known) != known:
            raise DataError(
                f"{folder}: unsupported {setting} {config[setting]!r}; supported: {known!r}"
            )
    epsilon = config.setdefault("layer_norm_eps", 1e-12)
    if not isinstance(epsilon, int | float):
        raise DataError(f"{folder}: layer_norm_eps must be a number, not {epsilon!r}")
    return config


def _read_count(folder: Path, config: Mapping[str, Any], name: str) -> int:
    count = config.get(name)
    if not isinstance(count, int) or count < 1:
        raise DataError(f"{folder / 'config.json'}: {name} must be at least 1, not {count!r}")
    return count


def _read_limit(folder: Path) -> int:
    """Return the maximum number of tokens in tokenizer_config.json."""
    path = folder / "tokenizer_config.json"
    limit = _read_json(path).get("model_max_length", 10**9) if path.is_file() else 10**9
    if not isinstance(limit, int | float) or limit < _MIN_TOKENS:
        raise DataError(f"{path}: model_max_length must be at least {_MIN_TOKENS}, not {limit!r}")
    return int(limit)


_MIN_TOKENS = 3
"""Minimum number of tokens: one token of the caption and two special tokens."""


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} is damaged: expected an object")
    return content


def _read_layer(arrays: _Arrays, architecture: Architecture, number: int, width: int) -> Layer:
    def read(name: str, outputs: int | None, *inputs: int) -> tuple[Floats32, Floats32]:
        place = f"encoder.layer.{number}.{name}"
        weight = arrays.get(f"{place}.weight", outputs, *inputs)
        return weight, arrays.get(f"{place}.bias", len(weight))

    attend = [
        read(name, width, width)
        for name in (architecture.query, architecture.key, architecture.value)
    ]
    widen, widen_bias = read("intermediate.dense", None, width)
    return Layer(
        np.concatenate([weight for weight, _ in attend]),
        np.concatenate([bias for _, bias in attend]),
        *read(architecture.gather, width, width),
        *read(architecture.attended, width),
        widen,
        widen_bias,
        *read("output.dense", width, len(widen)),
        *read("output.LayerNorm", width),
    )


class _Arrays:
    """Arrays by name, without the prefix of the surrounding model."""

    def __init__(self, folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
        old = {"gamma": "weight", "beta": "bias"}  # names in BERT's first releases
        self._folder = folder
        self._arrays = {
            ".".join(old.get(part, part) for part in name.split(".")): array
            for name, array in arrays.items()
        }
        end = "embeddings.word_embeddings.weight"
        self._prefix = next((n.removesuffix(end) for n in self._arrays if n.endswith(end)), "")

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._arrays

    def get(self, name: str, *shape: int | None) -> Floats32:
        """Return an array of that shape; None is any length except 0."""
        if name not in self:
            raise DataError(f"{self._folder}: missing weights: {name}")
        array = self._arrays[self._prefix + name]
        fits = array.ndim == len(shape) and all(
            length == (expected or max(1, length))
            for length, expected in zip(array.shape, shape, strict=True)
        )
        if not fits:
            expected = ", ".join("any" if length is None else str(length) for length in shape)
            raise DataError(
                f"{self._folder}: {name} has shape {list(array.shape)}, expected [{expected}]"
            )
        return np.ascontiguousarray(array, np.float32)
