"""Encoders: language models that turn captions into vectors. Nothing is fetched at scoring time.

| encoder     | what it is                                                                    |
|-------------|-------------------------------------------------------------------------------|
| `minilm`    | all-MiniLM-L6-v2, 6 layers of 384; `cidery data get minilm`                   |
| `mpnet`     | all-mpnet-base-v2, 12 layers of 768; `cidery data get mpnet`                  |
| a path      | the folder of a BERT, RoBERTa or MPNet model as Hugging Face lays it out      |
| a function  | captions -> array [captions, width], or words and [words, width] for each     |

```python
encoder = get_encoder("minilm")
encoder.embed(["a dog runs", "a puppy is running"])     # float32[2, 384], rows of length 1
encoder.tokens(["a dog runs"], layer=5).states          # float32[5, 384]: [CLS] a dog runs [SEP]
```
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from cidery.errors import DataError, SettingError
from cidery.metrics.contextual.encoders.base import Encoder, Token, TokenStates
from cidery.metrics.contextual.encoders.calibration import BETAS, LAYERS, choose_beta, choose_layer
from cidery.metrics.contextual.encoders.lens import Lens, find_lens
from cidery.metrics.contextual.encoders.weights import hash_weights
from cidery.store import MODELS, find_model

EncoderLike: TypeAlias = str | os.PathLike[str] | Callable[[list[str]], Any] | Encoder


def get_encoder(
    encoder: EncoderLike = "minilm", device: str = "cpu", keep: bool = False
) -> Encoder:
    """Return the encoder of that name, read the model folder, or wrap the function.

    `device` is `cpu` (the native core), `torch` (torch, on a graphics card if it has one), or a
    device that torch knows, such as `cuda:1`. `keep` keeps vectors in the user's cache directory.
    """
    if keep:
        return _keep(get_encoder(encoder, device), device)
    if isinstance(encoder, Encoder):
        return encoder
    if isinstance(encoder, str) and encoder in MODELS:
        return _open(*_find_checked(encoder), encoder, device)
    if isinstance(encoder, str | os.PathLike):
        folder = Path(encoder).resolve()
        if not os.fspath(encoder) or not folder.is_dir():
            raise SettingError(
                f"no encoder {str(encoder)!r}: neither {' nor '.join(MODELS)} nor a folder"
            )
        return _open(folder, hash_weights(folder), f"folder:{folder.name}", device)
    if callable(encoder) and isinstance(encoder, Hashable):
        return _wrap(encoder)
    raise SettingError(
        f"an encoder is a name, a folder or a function that can be hashed, not {encoder!r}"
    )


def _find_checked(name: str) -> tuple[Path, str]:
    """Return the folder of a model that cidery knows, and the SHA-256 of its weights."""
    folder, source = find_model(name), MODELS[name]
    digest = hash_weights(folder)
    if digest != source.sums["model.safetensors"]:
        raise DataError(
            f"the weights in {folder} are not those of {name}: their SHA-256 is {digest}; fetch "
            f"them with: {source.command}"
        )
    return folder, digest


@lru_cache(maxsize=4)
def _open(folder: Path, digest: str, name: str, device: str) -> Encoder:
    from cidery.metrics.contextual.encoders.transformer import TransformerEncoder

    return TransformerEncoder(folder, digest, name, device)


@lru_cache(maxsize=4)
def _wrap(function: Callable[[list[str]], Any]) -> Encoder:
    from cidery.metrics.contextual.encoders.functions import FunctionEncoder

    return FunctionEncoder(function)


@lru_cache(maxsize=4)
def _keep(encoder: Encoder, device: str) -> Encoder:
    from cidery.metrics.contextual.encoders.disk_cache import KeptEncoder
    from cidery.metrics.contextual.encoders.functions import FunctionEncoder

    if isinstance(encoder, FunctionEncoder):
        raise SettingError(
            f"vectors of {encoder.name} cannot be kept: who changes a function changes them "
            "unseen; leave keep out"
        )
    return KeptEncoder(encoder, device)


__all__ = [
    "BETAS",
    "LAYERS",
    "Encoder",
    "EncoderLike",
    "Lens",
    "Token",
    "TokenStates",
    "choose_beta",
    "choose_layer",
    "find_lens",
    "get_encoder",
]
