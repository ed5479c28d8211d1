"""What was found for each encoder: the layer to compare tokens in, and how near a match is.

The figures and how they were found are in docs/encoders.md; tools/calibrate_encoders.py finds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cidery.encoders.base import Encoder
from cidery.errors import SettingError

LAYERS: Mapping[str, int] = MappingProxyType(
    {"minilm": 6, "mpnet": 12, "bert-base": 9, "roberta-large": 17}
)
"""By encoder. Those of BERT and RoBERTa are what the package bert_score takes."""

WORD_LAYERS: Mapping[str, int] = MappingProxyType({"mpnet": 10})
"""Where consensus compares words in another layer than embeddings. MPNet's last makes all words of
a caption much alike."""

BETAS: Mapping[str, float] = MappingProxyType(
    {"minilm": 0.5, "mpnet": 0.15, "bert-base": 0.4, "roberta-large": 0.83}
)
"""β, the highest cosine of tokens that do not match, by encoder. Those of BERT and RoBERTa are from
Yi, Deng and Hu 2020."""


def choose_layer(encoder: Encoder, layer: int | None = None) -> int | None:
    """Return the layer asked for, or the encoder's best; the last of one that is not known."""
    if layer is not None or encoder.layers == 0:
        return layer
    return LAYERS.get(_model_of(encoder), encoder.layers)


def choose_word_layer(encoder: Encoder, layer: int | None = None) -> int | None:
    """Return the layer asked for, or the one in which an embedding metric compares words best."""
    if layer is None and encoder.layers:
        layer = WORD_LAYERS.get(_model_of(encoder))
    return choose_layer(encoder, layer)


def choose_beta(encoder: Encoder, beta: float | None = None) -> float:
    """Return the threshold asked for, or the encoder's."""
    if beta is not None:
        if not -1 <= beta <= 1:
            raise SettingError(f"beta is a cosine: it must lie between -1 and 1, not {beta}")
        return beta
    if _model_of(encoder) not in BETAS:
        raise SettingError(
            f"no β is known for the encoder {encoder.name}; say up to which cosine tokens do not "
            f"match: beta=0.4 (known: {', '.join(BETAS)})"
        )
    return BETAS[_model_of(encoder)]


def _model_of(encoder: Encoder) -> str:
    """Return the model's name: that of its folder, whether cased or not."""
    name = encoder.name.removeprefix("folder:")
    return name.removesuffix("-uncased").removesuffix("-cased")
