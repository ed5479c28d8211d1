"""Model folders as Hugging Face lays them out: config.json, weights and a tokenizer."""

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
    "xlm-roberta": Naming(first_position=2),
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
    config = _read_config(folder)
    naming = NAMINGS[config["model_type"]]
    heads = _read_count(folder, config, "num_attention_heads")
    arrays = _Arrays(folder, read_arrays(folder))
    words = arrays.take("embeddings.word_embeddings.weight", None, None)
    width = words.shape[1]
    positions = arrays.take("embeddings.position_embeddings.weight", None, width)
    kinds = np.zeros((1, width), np.float32)
    if "embeddings.token_type_embeddings.weight" in arrays:
        kinds = arrays.take("embeddings.token_type_embeddings.weight", None, width)
    distances = None
    if naming.relative:
        distances = arrays.take("encoder.relative_attention_bias.weight", None, heads)
    return Model(
        folder,
        naming,
        heads,
        float(config["layer_norm_eps"]),
        min(len(positions) - naming.first_position, _read_limit(folder)),
        words,
        positions,
        kinds[0],
        arrays.take("embeddings.LayerNorm.weight", width),
        arrays.take("embeddings.LayerNorm.bias", width),
        tuple(
            _read_layer(arrays, naming, number, width)
            for number in range(_read_count(folder, config, "num_hidden_layers"))
        ),
        distances,
    )


def _read_config(folder: Path) -> dict[str, Any]:
    """Read config.json, and refuse what would be run wrongly."""
    if not (folder / "config.json").is_file():
        raise DataError(
            f"{folder} holds no config.json; an encoder is the folder of a model as Hugging Face "
            "lays it out"
        )
    config = _read_json(folder / "config.json")
    kind = config.get("model_type")
    if kind not in NAMINGS:
        raise DataError(f"{folder}: cannot run {kind!r} models; known: {', '.join(NAMINGS)}")
    for setting, known in {"hidden_act": "gelu", "position_embedding_type": "absolute"}.items():
        if config.get(setting, known) != known:
            raise DataError(
                f"{folder}: cannot run models with {setting} {config[setting]!r}, only {known!r}"
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
    """Return how many tokens tokenizer_config.json allows."""
    path = folder / "tokenizer_config.json"
    limit = _read_json(path).get("model_max_length", 10**9) if path.is_file() else 10**9
    if not isinstance(limit, int | float) or limit < _FEWEST:
        raise DataError(f"{path}: model_max_length must be at least {_FEWEST}, not {limit!r}")
    return int(limit)


_FEWEST = 3
"""Tokens: one of the caption's between two of the encoder's."""


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} is damaged: expected an object")
    return content


def _read_layer(arrays: _Arrays, naming: Naming, number: int, width: int) -> Layer:
    def read(name: str, outputs: int | None, *inputs: int) -> tuple[Floats32, Floats32]:
        place = f"encoder.layer.{number}.{name}"
        weight = arrays.take(f"{place}.weight", outputs, *inputs)
        return weight, arrays.take(f"{place}.bias", len(weight))

    attend = [read(name, width, width) for name in (naming.query, naming.key, naming.value)]
    widen, widen_bias = read("intermediate.dense", None, width)
    return Layer(
        np.concatenate([weight for weight, _ in attend]),
        np.concatenate([bias for _, bias in attend]),
        *read(naming.gather, width, width),
        *read(naming.attended, width),
        widen,
        widen_bias,
        *read("output.dense", width, len(widen)),
        *read("output.LayerNorm", width),
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

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._arrays

    def take(self, name: str, *shape: int | None) -> Floats32:
        """Return an array of that shape; None is any length but 0."""
        if name not in self:
            raise DataError(f"{self._folder}: the weights hold no {name}")
        array = self._arrays[self._prefix + name]
        fits = array.ndim == len(shape) and all(
            length == (expected or max(1, length))
            for length, expected in zip(array.shape, shape, strict=True)
        )
        if not fits:
            expected = ", ".join("any" if length is None else str(length) for length in shape)
            raise DataError(
                f"{self._folder}: {name} is of the shape {list(array.shape)}, not [{expected}]"
            )
        return np.ascontiguousarray(array, np.float32)
