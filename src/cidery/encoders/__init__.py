"""Encoders: language models that turn captions into vectors. Nothing is downloaded while scoring.

| encoder     | model                                                                         |
|-------------|-------------------------------------------------------------------------------|
| `minilm`    | all-MiniLM-L6-v2, 6 layers of 384; `cidery data get minilm`                   |
| `mpnet`     | all-mpnet-base-v2, 12 layers of 768; `cidery data get mpnet`                  |
| a path      | folder of a BERT, RoBERTa, XLM-R or MPNet model in Hugging Face's layout      |
| a function  | captions -> array [captions, width], or words and [words, width] for each     |
| other names | encoders of plug-in packages (`cidery.plugins`)                               |

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

from cidery.encoders.base import Encoder, Token, TokenStates
from cidery.encoders.calibration import (
    BETAS,
    LAYERS,
    choose_beta,
    choose_layer,
    choose_word_layer,
)
from cidery.encoders.lens import Lens, find_lens
from cidery.encoders.sentencepiece import NAME as SENTENCEPIECE
from cidery.encoders.weights import hash_weights
from cidery.errors import DataError, SettingError
from cidery.plugins import LoadedPlugin, list_names, load_plugin
from cidery.storage import MODELS, find_model, hash_file

EncoderLike: TypeAlias = str | os.PathLike[str] | Callable[[list[str]], Any] | Encoder
"""A name, a model folder, a function from captions to vectors, or an encoder."""


def get_encoder(
    encoder: EncoderLike = "minilm", device: str = "cpu", keep: bool = False
) -> Encoder:
    """Return the encoder of a name, a model folder or a function.

    `device` is `cpu` (the native core), `torch` (torch, on a GPU if available), or the name of a
    torch device, such as `cuda:1`. With `keep`, vectors are cached on disk.
    """
    opened = _get_encoder(encoder, device)
    return _cache(opened) if keep else opened


def _get_encoder(encoder: EncoderLike, device: str) -> Encoder:
    if isinstance(encoder, Encoder):
        return encoder
    if isinstance(encoder, str) and encoder not in MODELS:
        loaded = _load_plugin_encoder(encoder)
        if loaded is not None:
            return _open_plugin_encoder(loaded)
    if isinstance(encoder, str | os.PathLike):
        folder, name = _find_folder(encoder)
        return _open(folder, _hash_files(folder), name, device)
    if callable(encoder) and isinstance(encoder, Hashable):
        from cidery.encoders.function_encoder import FunctionEncoder

        return FunctionEncoder(encoder)
    raise SettingError(f"encoder must be a name, a folder or a hashable function, not {encoder!r}")


def name_encoder(encoder: EncoderLike) -> str:
    """Return the name of an encoder in signatures, without loading a model.

    ```python
    name_encoder("minilm"), name_encoder("models/my-bert")   # ("minilm", "folder:my-bert")
    ```
    """
    if isinstance(encoder, str) and encoder in MODELS:
        return encoder
    if isinstance(encoder, str) and (loaded := _load_plugin_encoder(encoder)) is not None:
        return f"{encoder}@{loaded.plugin.origin}"
    if isinstance(encoder, str | os.PathLike):
        return f"folder:{Path(encoder).resolve().name}"
    return get_encoder(encoder).name


def _load_plugin_encoder(name: str) -> LoadedPlugin | None:
    """Return the encoder of a plug-in package; a path with a slash is always a folder."""
    return load_plugin("encoder", name) if name and Path(name).name == name else None


@lru_cache(maxsize=4)
def _open_plugin_encoder(loaded: LoadedPlugin) -> Encoder:
    from cidery.encoders.function_encoder import FunctionEncoder

    value, plugin = loaded.value, loaded.plugin
    if isinstance(value, type) and issubclass(value, Encoder):
        try:
            return value()
        except Exception as error:
            raise plugin.fail(f"cannot be created: {type(error).__name__}: {error}") from error
    if isinstance(value, Encoder):
        return value
    if callable(value):
        return FunctionEncoder(value, f"{plugin.name}@{plugin.origin}")
    raise plugin.fail(
        f"is {type(value).__name__}, expected an Encoder class, an Encoder or a function"
    )


def _find_folder(encoder: str | os.PathLike[str]) -> tuple[Path, str]:
    """Return a model's folder and its name in signatures."""
    if isinstance(encoder, str) and encoder in MODELS:
        return _find_checked(encoder), encoder
    folder = Path(encoder).resolve()
    if not os.fspath(encoder) or not folder.is_dir():
        raise SettingError(
            f"no encoder {str(encoder)!r}: neither "
            f"{' nor '.join(list_names('encoder', MODELS))} nor a folder"
        )
    return folder, f"folder:{folder.name}"


def _find_checked(name: str) -> Path:
    """Return the folder of a shipped model name, after checking its files."""
    folder, source = find_model(name), MODELS[name]
    digest = hash_weights(folder)
    if digest != source.sums["model.safetensors"]:
        raise DataError(
            f"the weights in {folder} are not those of {name}: their SHA-256 is {digest}; download "
            f"them with: {source.command}"
        )
    for file, expected in source.sums.items():
        if not (folder / file).is_file() or hash_file(folder / file) != expected:
            raise DataError(
                f"{folder / file} is missing or not that of {name}; download it with: "
                f"{source.command}"
            )
    return folder


def _hash_files(folder: Path) -> tuple[str, ...]:
    """Return the digests of all files of an encoder, the weights first."""
    tokenizer = "tokenizer.json" if (folder / "tokenizer.json").is_file() else SENTENCEPIECE
    others = (folder / name for name in ("config.json", tokenizer, "tokenizer_config.json"))
    return (
        hash_weights(folder),
        *(hash_file(path) if path.is_file() else "none" for path in others),
    )


# Loading takes a second. The key has the digests of all files.
@lru_cache(maxsize=4)
def _open(folder: Path, files: tuple[str, ...], name: str, device: str) -> Encoder:
    from cidery.encoders.transformer import TransformerEncoder

    return TransformerEncoder(folder, files, name, device)


def _cache(encoder: Encoder) -> Encoder:
    from cidery.encoders.transformer import TransformerEncoder
    from cidery.encoders.vector_cache import CachedEncoder

    if isinstance(encoder, CachedEncoder):
        return encoder
    if not isinstance(encoder, TransformerEncoder):
        raise SettingError(
            f"vectors of {encoder.name} cannot be cached: a function may change while its name "
            "stays the same; leave out keep"
        )
    return CachedEncoder(encoder)


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
    "choose_word_layer",
    "find_lens",
    "get_encoder",
    "name_encoder",
]
