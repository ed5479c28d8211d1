"""CLIP models from folders in Hugging Face's layout: captions and images to vectors, by torch.

Every caption and every image goes through its tower by itself, so that its vector depends on no
other. Preparation of images and the towers follow the files of the folder as transformers reads
them; neither transformers nor torchvision is needed.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.encoders.base import Floats32
from cidery.encoders.weights import hash_file, hash_weights, read_arrays
from cidery.errors import DataError, InputError, MissingExtraError, SettingError, UnreliableWarning
from cidery.runtime.progress import current_progress
from cidery.storage.disk_cache import DiskCache

if TYPE_CHECKING:
    import tokenizers
    import torch

VECTORS = DiskCache("embeddings")
AT_ONCE = 64
"""Vectors that are made, then kept: what is lost when the work is stopped."""
_FILES = ("config.json", "tokenizer.json", "vocab.json", "merges.txt", "preprocessor_config.json")
_PIECES = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
"""How CLIP's tokenizer parts a caption before it looks for pieces (Radford et al. 2021)."""
_MEAN = (0.48145466, 0.4578275, 0.40821073)
_SPREAD = (0.26862954, 0.26130258, 0.27577711)
"""Of the colors of CLIP's training images, where the folder does not say."""


@dataclass(frozen=True)
class Preparation:
    """How an image becomes the numbers that the model sees."""

    shortest: int
    """Pixels of its shorter side, before the middle is cut out."""
    height: int
    width: int
    resample: int
    mean: tuple[float, ...]
    spread: tuple[float, ...]

    def read(self, file: Path) -> Floats32:
        """Return float32[3, height, width] of a file."""
        try:
            from PIL import Image
        except ImportError:
            raise MissingExtraError.to("read images", package="pillow", extra="clip") from None
        try:
            with Image.open(file) as opened:
                image = opened.convert("RGB")
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise InputError(f"{file}: this image cannot be read: {error}") from None
        short, long = sorted(image.size)
        longest = int(self.shortest * long / short)
        wide = image.width > image.height
        size = (longest, self.shortest) if wide else (self.shortest, longest)
        pixels = np.asarray(image.resize(size, Image.Resampling(self.resample)), np.float64)
        values = (_cut_middle(pixels, self.height, self.width) / 255 - self.mean) / self.spread
        return np.ascontiguousarray(values.transpose(2, 0, 1), np.float32)


def _cut_middle(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the middle; where the image is smaller, black is around it."""
    top, left = (pixels.shape[0] - height) // 2, (pixels.shape[1] - width) // 2
    if top < 0 or left < 0:
        above, before = max(0, -top), max(0, -left)
        below = max(0, height - pixels.shape[0] - above)
        after = max(0, width - pixels.shape[1] - before)
        pixels = np.pad(pixels, ((above, below), (before, after), (0, 0)))
        top, left = max(0, top), max(0, left)
    return pixels[top : top + height, left : left + width]


@dataclass(frozen=True)
class _Tower:
    """One of the two transformers of a CLIP model."""

    prefix: str
    width: int
    layers: int
    heads: int
    epsilon: float
    quick: bool
    """Whether the activation is x·sigmoid(1.702 x) instead of the exact GELU."""


class ClipModel:
    """The folder of a CLIP model, read once."""

    def __init__(self, folder: Path, files: tuple[str, ...], device: str) -> None:
        """Read a folder.

        Args:
            folder: As Hugging Face lays it out.
            files: The SHA-256 of each of its files, the weights' first.
            device: `cpu`, `torch` (a graphics card if there is one), or a device that torch knows.
        """
        torch = _import_torch()
        config = _read_object(folder / "config.json")
        if config.get("model_type") != "clip":
            raise DataError(
                f"{folder} is the folder of a {config.get('model_type')!r} model, expected 'clip'"
            )
        self.folder, self._files = folder, files
        if device == "torch":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._device = torch.device(device)
            self._arrays = {
                name: torch.from_numpy(np.array(array, np.float32)).to(self._device)
                for name, array in read_arrays(folder).items()
            }
        except (RuntimeError, AssertionError) as error:
            raise SettingError(f"torch cannot use the device {device!r}: {error}") from error
        self._text = self._read_tower(config, "text")
        self._vision = self._read_tower(config, "vision")
        self.window = len(self._take("text_model.embeddings.position_embedding.weight"))
        self._tokenizer = _open_tokenizer(folder)
        self._end = self._tokenizer.encode("").ids[-1]
        self._preparation = _read_preparation(folder)

    @property
    def fingerprint(self) -> str:
        """The beginning of its weights' SHA-256."""
        return self._files[0][:12]

    @property
    def kernel(self) -> str:
        """What computes, for signatures."""
        import torch

        if self._device.type == "cpu":
            return f"torch-{torch.backends.cpu.get_cpu_capability()}".lower()
        return f"torch-{self._device.type}"

    def embed_captions(self, captions: Sequence[str], keep: bool = False) -> Floats32:
        """Return float32[captions, width], as the model projects them, not normalized.

        Captions of more tokens than the model sees are cut, as CLIP's own tokenizer cuts them, and
        an UnreliableWarning says how many.
        """
        tokens = [found.ids for found in self._tokenizer.encode_batch(list(captions))]
        long = sum(len(ids) > self.window for ids in tokens)
        if long:
            count = "1 caption has" if long == 1 else f"{long} captions have"
            warnings.warn(
                f"{count} more than the {self.window} tokens that CLIP sees, with the prompt: what "
                "follows is not seen, as in the authors' code",
                UnreliableWarning,
                stacklevel=2,
            )
        cut = [(*ids[: self.window - 1], self._end) if len(ids) > self.window else tuple(ids)
               for ids in tokens]  # fmt: skip
        keys = [np.asarray(ids, "<i8").tobytes() for ids in cut]
        made = dict(zip(keys, cut, strict=True))
        return self._embed("caption", keys, lambda key: self._run_text(made[key]), keep)

    def embed_images(self, files: Sequence[Path], keep: bool = False) -> Floats32:
        """Return float32[files, width], as the model projects them, not normalized."""
        keys = [str(file).encode() for file in files]
        known = dict(zip(keys, files, strict=True))
        spelled = None
        if keep:
            spelled = {key: bytes.fromhex(hash_file(file)) for key, file in known.items()}
        run = lambda key: self._run_image(known[key])  # noqa: E731
        return self._embed("image", keys, run, keep, spelled)

    def _embed(
        self,
        what: str,
        keys: Sequence[bytes],
        run: Callable[[bytes], Floats32],
        keep: bool,
        contents: Mapping[bytes, bytes] | None = None,
    ) -> Floats32:
        """Return the vector of each key, each made once; with `keep`, once on this machine."""
        report = current_progress()
        model = "\n".join((*self._files, self.kernel, what)).encode()
        distinct = list(dict.fromkeys(keys))
        names = {
            key: sha256(model + b"\n" + (contents[key] if contents else key)).digest()
            for key in distinct
        }
        kept = VECTORS.load(names.values()) if keep else {}
        found = {
            key: np.frombuffer(kept[name], np.float32)
            for key, name in names.items()
            if name in kept
        }
        left = [key for key in distinct if key not in found]
        for start in range(0, len(left), AT_ONCE):
            part = left[start : start + AT_ONCE]
            for place, key in enumerate(part, start):
                report(f"encoding {what}s by {self.folder.name}", place / len(left))
                found[key] = run(key)
            if keep:
                VECTORS.save({names[key]: found[key].tobytes() for key in part})
        vectors = np.stack([found[key] for key in keys])
        if not np.isfinite(vectors).all():
            raise DataError(f"{self.folder}: the weights give vectors that are no numbers")
        return vectors

    def _run_text(self, ids: Sequence[int]) -> Floats32:
        import torch

        with torch.inference_mode():
            places = torch.as_tensor(ids, device=self._device)
            x = self._take("text_model.embeddings.token_embedding.weight")[places]
            x = x + self._take("text_model.embeddings.position_embedding.weight")[: len(ids)]
            x = self._run(x, self._text, causal=True)
            x = self._normalize(x, self._text, "final_layer_norm")
            # The caption's vector is the state of its end.
            return self._project(x[ids.index(self._end)], "text_projection")

    def _run_image(self, file: Path) -> Floats32:
        import torch
        from torch.nn import functional

        values = torch.from_numpy(self._preparation.read(file)).to(self._device)
        with torch.inference_mode():
            patches = self._take("vision_model.embeddings.patch_embedding.weight")
            x = functional.conv2d(values[None], patches, stride=patches.shape[-1])[0]
            x = x.flatten(1).transpose(0, 1)
            first = self._take("vision_model.embeddings.class_embedding")
            x = torch.cat([first[None], x])
            positions = self._take("vision_model.embeddings.position_embedding.weight")
            if len(x) != len(positions):
                raise DataError(
                    f"{self.folder}: images of {self._preparation.height} x "
                    f"{self._preparation.width} pixels do not fit the model"
                )
            x = self._normalize(x + positions, self._vision, "pre_layrnorm")
            x = self._run(x, self._vision, causal=False)
            x = self._normalize(x, self._vision, "post_layernorm")
            return self._project(x[0], "visual_projection")

    def _run(self, x: torch.Tensor, tower: _Tower, *, causal: bool) -> torch.Tensor:
        import torch
        from torch.nn import functional

        def apply(y: torch.Tensor, name: str) -> torch.Tensor:
            return functional.linear(y, self._take(f"{name}.weight"), self._take(f"{name}.bias"))

        for number in range(tower.layers):
            place = f"{tower.prefix}.encoder.layers.{number}"
            y = self._normalize(x, tower, f"encoder.layers.{number}.layer_norm1")
            query, key, value = (
                apply(y, f"{place}.self_attn.{part}_proj")
                .view(len(y), tower.heads, -1)
                .transpose(0, 1)
                for part in "qkv"
            )
            mixed = functional.scaled_dot_product_attention(
                query[None], key[None], value[None], is_causal=causal
            )[0]
            mixed = mixed.transpose(0, 1).reshape(len(x), tower.width)
            x = x + apply(mixed, f"{place}.self_attn.out_proj")
            y = self._normalize(x, tower, f"encoder.layers.{number}.layer_norm2")
            y = apply(y, f"{place}.mlp.fc1")
            y = y * torch.sigmoid(1.702 * y) if tower.quick else functional.gelu(y)
            x = x + apply(y, f"{place}.mlp.fc2")
        return x

    def _normalize(self, x: torch.Tensor, tower: _Tower, name: str) -> torch.Tensor:
        from torch.nn import functional

        place = f"{tower.prefix}.{name}"
        weight, bias = self._take(f"{place}.weight"), self._take(f"{place}.bias")
        return functional.layer_norm(x, (tower.width,), weight, bias, tower.epsilon)

    def _project(self, state: torch.Tensor, name: str) -> Floats32:
        from torch.nn import functional

        vector: Floats32 = functional.linear(state, self._take(f"{name}.weight")).cpu().numpy()
        return vector

    def _take(self, name: str) -> torch.Tensor:
        if name not in self._arrays:
            raise DataError(f"{self.folder}: the weights hold no {name}; is it a whole CLIP model?")
        return self._arrays[name]

    def _read_tower(self, config: Mapping[str, Any], kind: str) -> _Tower:
        defaults = {"text": (512, 12, 8), "vision": (768, 12, 12)}[kind]  # as CLIPConfig has them
        names = ("hidden_size", "num_hidden_layers", "num_attention_heads")
        found = config.get(f"{kind}_config") or {}
        counts: list[int] = []
        for name, default in zip(names, defaults, strict=True):
            count = found.get(name, default)
            if not isinstance(count, int) or count < 1:
                raise DataError(f"{self.folder}: {kind}_config has {name} {count!r}")
            counts.append(count)
        width, layers, heads = counts
        activation = found.get("hidden_act", "quick_gelu")
        if activation not in ("quick_gelu", "gelu"):
            raise DataError(f"{self.folder}: cannot run CLIP models with {activation!r}")
        epsilon = float(found.get("layer_norm_eps", 1e-5))
        quick = activation == "quick_gelu"
        return _Tower(f"{kind}_model", width, layers, heads, epsilon, quick)


def open_clip(folder: str, device: str = "cpu") -> ClipModel:
    """Return the model of a folder; it is read again only when a file of it has changed."""
    path = Path(folder).resolve()
    if not (path / "config.json").is_file():
        raise SettingError(
            f"no CLIP model in {folder!r}: expected a folder as Hugging Face lays it out, with "
            "config.json, model.safetensors and tokenizer.json"
        )
    return _open(path, tuple(_hash_files(path)), device)


def _hash_files(folder: Path) -> Iterator[str]:
    yield hash_weights(folder)
    for name in _FILES:
        yield hash_file(folder / name) if (folder / name).is_file() else "none"


@lru_cache(maxsize=2)
def _open(folder: Path, files: tuple[str, ...], device: str) -> ClipModel:
    return ClipModel(folder, files, device)


def _import_torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtraError.to("run CLIP models", package="torch", extra="clip") from None
    return torch


def _read_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} is damaged: expected an object")
    return content


def _read_preparation(folder: Path) -> Preparation:
    path = folder / "preprocessor_config.json"
    found = _read_object(path) if path.is_file() else {}
    for name in ("do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb"):
        if found.get(name, True) is not True:
            raise DataError(f"{path}: cannot prepare images with {name} {found[name]!r}")
    size, crop = found.get("size", 224), found.get("crop_size", 224)
    sizes: list[int] = []
    for given, name in ((size, "shortest_edge"), (crop, "height"), (crop, "width")):
        pixels = given.get(name) if isinstance(given, dict) else given
        if not isinstance(pixels, int) or pixels < 1:
            raise DataError(f"{path}: cannot prepare images of the size {size!r}, {crop!r}")
        sizes.append(pixels)
    shortest, height, width = sizes
    mean, spread = found.get("image_mean", _MEAN), found.get("image_std", _SPREAD)
    return Preparation(
        shortest, height, width, int(found.get("resample", 3)), tuple(mean), tuple(spread)
    )


def _open_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError.to(
            "cut captions as CLIP does", package="tokenizers", extra="clip"
        ) from None
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path)) if path.is_file() else _build_tokenizer(folder)
    except DataError:
        raise
    except Exception as error:  # the package raises nothing more particular
        raise DataError(f"{folder}: the tokenizer cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    if len(tokenizer.encode("").ids) != 2:
        raise DataError(
            f"{folder}: the tokenizer must add a first and a last token, as CLIP's does"
        )
    return tokenizer


def _build_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    """Make CLIP's tokenizer from vocab.json and merges.txt, its older layout."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary, merges = folder / "vocab.json", folder / "merges.txt"
    if not vocabulary.is_file() or not merges.is_file():
        raise DataError(f"{folder} holds neither tokenizer.json nor vocab.json and merges.txt")
    tokenizer = Tokenizer(
        models.BPE.from_file(
            str(vocabulary), str(merges), end_of_word_suffix="</w>", unk_token="<|endoftext|>"
        )
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    ends = ("<|endoftext|>", "<|startoftext|>")
    last, first = (tokenizer.token_to_id(text) for text in ends)
    if last is None or first is None:
        raise DataError(f"{vocabulary} lacks {ends[0]} or {ends[1]}")
    tokenizer.add_special_tokens(list(ends))
    tokenizer.post_processor = processors.RobertaProcessing(
        (ends[0], last), (ends[1], first), trim_offsets=False, add_prefix_space=False
    )
    return tokenizer
