"""Calibrated settings of encoders: the layer in which tokens are compared, and the threshold β.

docs/encoders.md describes their selection by tools/calibrate_encoders.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cidery.encoders.base import Encoder
from cidery.errors import SettingError

LAYERS: Mapping[str, int] = MappingProxyType(
    {"minilm": 6, "mpnet": 12, "bert-base": 9, "roberta-large": 17}
)
"""Layer by encoder. Those of BERT and RoBERTa are bert_score's."""

WORD_LAYERS: Mapping[str, int] = MappingProxyType({"mpnet": 10})
"""Layer in which consensus compares words, if not that of embeddings. In MPNet's last layer, all
words of a caption are similar."""

BETAS: Mapping[str, float] = MappingProxyType(
    {"minilm": 0.5, "mpnet": 0.15, "bert-base": 0.4, "roberta-large": 0.83}
)
"""β by encoder: tokens match if their cosine is above it. Those of BERT and RoBERTa are from Yi,
Deng and Hu 2020."""


def choose_layer(encoder: Encoder, layer: int | None = None) -> int | None:
    """Return the given layer, or the calibrated one, or the last."""
    if layer is not None or encoder.layers == 0:
        return layer
    return LAYERS.get(_model_of(encoder), encoder.layers)


def choose_word_layer(encoder: Encoder, layer: int | None = None) -> int | None:
    """Return the given layer, or the calibrated one for comparing words."""
    if layer is None and encoder.layers:
        layer = WORD_LAYERS.get(_model_of(encoder))
    return choose_layer(encoder, layer)


def choose_beta(encoder: Encoder, beta: float | None = None) -> float:
    """Return the given threshold, or the calibrated one."""
    if beta is not None:
        if not -1 <= beta <= 1:
            raise SettingError(f"beta must be in [-1, 1], not {beta}")
        return beta
    if _model_of(encoder) not in BETAS:
        raise SettingError(
            f"the encoder {encoder.name} has no default beta; set the cosine above which tokens "
            f"match, such as beta=0.4 (encoders with a default: {', '.join(BETAS)})"
        )
    return BETAS[_model_of(encoder)]


def _model_of(encoder: Encoder) -> str:
    """Return the name of the model or its folder, without `-cased` or `-uncased`."""
    name = encoder.name.removeprefix("folder:")
    return name.removesuffix("-uncased").removesuffix("-cased")
