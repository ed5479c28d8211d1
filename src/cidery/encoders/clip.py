"""CLIP models from Hugging Face folders: captions and images to vectors, computed by transformers.

Each caption and each image is encoded separately, so that its vector depends on no other input.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cidery.encoders.base import Floats32
from cidery.encoders.layers import name_torch_kernel
from cidery.encoders.weights import find_weights
from cidery.errors import DataError, InputError, MissingExtraError, SettingError, UnreliableWarning
from cidery.runtime import current_progress
from cidery.storage import CACHES, hash_file, hash_library, list_versions

VECTOR_CACHE = CACHES["embeddings"]
BATCH_SIZE = 64
"""Number of vectors computed between two writes to the cache."""
_SETTINGS = (".json", ".txt")
"""Suffixes of the settings of the model, the tokenizer and the image processor."""
_PACKAGES = ("numpy", "pillow", "tokenizers", "torch", "transformers")
"""Packages that compute vectors."""


class ClipModel:
    """A CLIP model with its tokenizer and image processor."""

    def __init__(self, folder: Path, digests: tuple[str, ...], device: str) -> None:
        """Load a model folder.

        Args:
            folder: Folder in Hugging Face's layout.
            digests: SHA-256 of each of its files, the weights first.
            device: `cpu`, `torch` (a GPU if available), or the name of a torch device.
        """
        torch, transformers = _import_packages()
        self.folder, self._digests = folder, digests
        if device == "torch":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
            if config.model_type != "clip":
                raise DataError(f"model_type is {config.model_type!r}, expected 'clip'")
            model, loading = transformers.CLIPModel.from_pretrained(
                folder,
                config=config,
                local_files_only=True,
                output_loading_info=True,
            )
            if loading["missing_keys"]:
                raise DataError(f"missing weights: {', '.join(sorted(loading['missing_keys']))}")
            self._tokenizer = transformers.CLIPTokenizerFast.from_pretrained(
                folder, local_files_only=True
            )
            # transformers 5 has two; the other needs torchvision and rounds differently.
            processor = getattr(transformers, "CLIPImageProcessorPil", None)
            processor = processor or transformers.CLIPImageProcessor
            self._processor = processor.from_pretrained(folder, local_files_only=True)
        except Exception as error:  # transformers and safetensors raise many types
            raise DataError(f"cannot load the CLIP model in {folder}: {error}") from error
        try:
            self._device = torch.device(device)
            self._model = model.float().eval().to(self._device)
        except (RuntimeError, AssertionError) as error:
            raise SettingError(f"torch cannot use the device {device!r}: {error}") from error
        self.window: int = config.text_config.max_position_embeddings
        """Maximum number of tokens of a caption."""

    @property
    def fingerprint(self) -> str:
        """First 12 digits of the SHA-256 of the weights."""
        return self._digests[0][:12]

    @property
    def files(self) -> str:
        """Digest of all files, including settings and tokenizer."""
        return sha256("\n".join(self._digests).encode()).hexdigest()

    @property
    def kernel(self) -> str:
        """Device with its instruction set or model, for signatures."""
        return name_torch_kernel(self._device)

    def embed_captions(self, captions: Sequence[str], keep: bool = False) -> Floats32:
        """Return float32[captions, width]: projected text embeddings, not normalized.

        Captions longer than `window` are truncated, as in the authors' code, with an
        UnreliableWarning. With `keep`, vectors are cached on disk.
        """
        encoded = self._tokenizer(list(captions), verbose=False)["input_ids"]
        long = sum(len(ids) > self.window for ids in encoded)
        if long:
            count = "1 caption has" if long == 1 else f"{long} captions have"
            warnings.warn(
                f"{count} more than {self.window} tokens including the prompt, the maximum of this "
                "CLIP model; truncated, as in the authors' code",
                UnreliableWarning,
                stacklevel=2,
            )
        cut = [
            [*ids[: self.window - 1], ids[-1]] if len(ids) > self.window else ids for ids in encoded
        ]
        keys = [np.asarray(ids, "<i8").tobytes() for ids in cut]
        inputs = dict(zip(keys, cut, strict=True))
        return self._embed("caption", keys, lambda key: self._encode_text(inputs[key]), keep)

    def embed_images(self, files: Sequence[Path], keep: bool = False) -> Floats32:
        """Return float32[files, width]: projected image embeddings, not normalized.

        With `keep`, vectors are cached on disk by the content of the files.
        """
        keys = [str(file).encode() for file in files]
        inputs = dict(zip(keys, files, strict=True))
        contents = (
            {key: bytes.fromhex(hash_file(file)) for key, file in inputs.items()} if keep else {}
        )
        return self._embed(
            "image", keys, lambda key: self._encode_image(inputs[key]), keep, contents
        )

    def _embed(
        self,
        kind: str,
        keys: Sequence[bytes],
        encode: Callable[[bytes], Floats32],
        keep: bool,
        contents: Mapping[bytes, bytes] | None = None,
    ) -> Floats32:
        """Return the vector of each key; each distinct key is encoded once."""
        progress = current_progress()
        model = json.dumps(
            [*self._digests, self.kernel, kind, hash_library(), list_versions(_PACKAGES)]
        ).encode()
        distinct = list(dict.fromkeys(keys))
        names = {
            key: sha256(model + b"\n" + (contents[key] if contents else key)).digest()
            for key in distinct
        }
        cached = VECTOR_CACHE.load(names.values()) if keep else {}
        vectors = {
            key: np.frombuffer(cached[name], np.float32)
            for key, name in names.items()
            if name in cached
        }
        missing = [key for key in distinct if key not in vectors]
        for start in range(0, len(missing), BATCH_SIZE):
            batch = missing[start : start + BATCH_SIZE]
            for index, key in enumerate(batch, start):
                progress(f"encoding {kind}s by {self.folder.name}", index / len(missing))
                vectors[key] = encode(key)
            if keep:
                VECTOR_CACHE.save({names[key]: vectors[key].tobytes() for key in batch})
        result = np.stack([vectors[key] for key in keys])
        if not np.isfinite(result).all():
            raise DataError(f"{self.folder}: the model returns NaN or infinite values")
        return result

    def _encode_text(self, ids: Sequence[int]) -> Floats32:
        return self._run(self._model.text_model, self._model.text_projection, [ids])

    def _encode_image(self, file: Path) -> Floats32:
        from PIL import Image

        try:
            with Image.open(file) as opened:
                image = opened.convert("RGB")
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise InputError(f"{file}: cannot read the image: {error}") from None
        pixels = self._processor(image, return_tensors="np")["pixel_values"]
        try:
            return self._run(self._model.vision_model, self._model.visual_projection, pixels)
        except ValueError as error:  # the processor's size is not the model's
            raise DataError(f"{self.folder}: cannot encode images: {error}") from None

    def _run(self, tower: Any, projection: Any, inputs: Any) -> Floats32:
        import torch

        with torch.inference_mode():
            states = tower(torch.as_tensor(inputs, device=self._device))
            vector: Floats32 = projection(states.pooler_output)[0].cpu().numpy()
        return vector


def open_clip(folder: str, device: str = "cpu") -> ClipModel:
    """Return the model of a folder; it is loaded again only after a file has changed."""
    path = Path(folder).resolve()
    if not (path / "config.json").is_file():
        raise SettingError(
            f"no CLIP model in {folder!r}: expected a folder in Hugging Face's layout, with "
            "config.json, model.safetensors, tokenizer.json and preprocessor_config.json"
        )
    return _open(path, tuple(_hash_files(path)), device)


def _hash_files(folder: Path) -> Iterator[str]:
    """Yield the digests of the weights and of all settings with their names."""
    weights = find_weights(folder)
    yield hash_file(weights)
    for file in sorted(folder.iterdir()):
        if file.suffix in _SETTINGS and file.is_file():
            yield f"{file.name} {hash_file(file)}"


@lru_cache(maxsize=2)
def _open(folder: Path, digests: tuple[str, ...], device: str) -> ClipModel:
    return ClipModel(folder, digests, device)


def _import_packages() -> tuple[Any, Any]:
    for package, module in (("pillow", "PIL"), ("torch", "torch"), ("transformers",) * 2):
        if find_spec(module) is None:
            raise MissingExtraError.to("run CLIP models", package=package, extra="clip")
    import torch
    import transformers

    return torch, transformers
