"""What takes embedded captions through a model's layers: the native core, or torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cidery import _native
from cidery.encoders.base import Floats32, Integers
from cidery.encoders.model import Layer, Model
from cidery.errors import DataError, MissingExtraError, SettingError

if TYPE_CHECKING:
    import torch

TOKENS_AT_ONCE = 1 << 14
"""That torch gets in one batch."""


class Layers(Protocol):
    """The layers of a model, ready to run."""

    @property
    def kernel(self) -> str:
        """What computes, for signatures."""

    def run(self, states: Floats32, offsets: Integers, count: int, threads: int) -> Floats32:
        """Take states through `count` layers; caption i has tokens [offsets[i], offsets[i + 1])."""


class NativeLayers:
    """Layers in the native core: no package is needed, and the bits depend on no other caption."""

    def __init__(self, model: Model) -> None:
        inner = len(model.layers[0].widen_bias)
        try:
            self._encoder = _native.Encoder(model.words.shape[1], model.heads, inner, model.epsilon)
            for layer in model.layers:
                self._encoder.add_layer(*(array.reshape(-1) for array in list_arrays(layer)))
        except ValueError as error:
            raise DataError(f"{model.folder}: {error}") from error
        self._distances = model.distances

    @property
    def kernel(self) -> str:
        """`avx2` (with AVX-512 too: the bits are the same) or `portable`, by this processor."""
        return self._encoder.kernel

    def run(self, states: Floats32, offsets: Integers, count: int, threads: int) -> Floats32:
        """Take states through `count` layers."""
        longest = int(np.diff(offsets).max(initial=0))
        bias = bias_attention(self._distances, longest)
        return self._encoder.run(
            states.reshape(-1),
            offsets.astype(np.uint64),
            count,
            np.zeros(0, np.float32) if bias is None else bias.reshape(-1),
            threads,
        )


def list_arrays(layer: Layer) -> tuple[Floats32, ...]:
    """Return the arrays of a layer in order."""
    return tuple(vars(layer).values())


def bias_attention(distances: Floats32 | None, longest: int) -> Floats32 | None:
    """Return what MPNet adds to the scores of attention: float32[heads, longest, longest].

    Distances share a row of the table by buckets: one each up to 7, wider and wider ones up to
    128, the same for all beyond; half of the rows are for each direction (Raffel et al. 2020).
    """
    if distances is None:
        return None
    half = len(distances) // 2
    exact = half // 2
    places = np.arange(longest)
    behind = places[:, None] - places[None, :]
    far = np.maximum(np.abs(behind), 1).astype(np.float32)
    wide = exact + (np.log(far / exact) / np.log(128 / exact) * (half - exact)).astype(np.int64)
    bucket = np.where(np.abs(behind) < exact, np.abs(behind), np.minimum(wide, half - 1))
    bias = distances[bucket + half * (behind < 0)]
    return np.ascontiguousarray(bias.transpose(2, 0, 1))


class TorchLayers:
    """Layers in torch, on a graphics card if it has one; captions of one length make a batch."""

    def __init__(self, model: Model, device: str) -> None:
        try:
            import torch
        except ImportError:
            raise MissingExtraError.to(
                "encode with torch", package="torch", extra="torch"
            ) from None
        if device == "torch":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._device = torch.device(device)
            self._layers = [
                [torch.from_numpy(a.copy()).to(self._device) for a in list_arrays(layer)]
                for layer in model.layers
            ]
        except (RuntimeError, AssertionError) as error:
            raise SettingError(f"torch cannot use the device {device!r}: {error}") from error
        self._heads, self._epsilon, self._distances = model.heads, model.epsilon, model.distances

    @property
    def kernel(self) -> str:
        """`torch-avx512` on a processor with that, `torch-cuda-…` with the graphics card's name."""
        import torch

        if self._device.type == "cpu":
            kind = torch.backends.cpu.get_cpu_capability()
        elif self._device.type == "cuda":
            kind = f"cuda-{torch.cuda.get_device_name(self._device)}"
        else:
            kind = self._device.type
        return "-".join(f"torch-{kind}".lower().split())

    def run(self, states: Floats32, offsets: Integers, count: int, threads: int) -> Floats32:  # noqa: ARG002
        """Take states through `count` layers."""
        import torch

        result = np.empty_like(states)
        lengths = np.diff(offsets)
        with torch.inference_mode():
            for length in np.unique(lengths):
                starts = offsets[:-1][lengths == length]
                bias = bias_attention(self._distances, int(length))
                mask = None if bias is None else torch.from_numpy(bias).to(self._device)
                step = max(1, TOKENS_AT_ONCE // max(1, int(length)))
                for begin in range(0, len(starts), step):
                    rows = starts[begin : begin + step, None] + np.arange(length)
                    batch = torch.from_numpy(states[rows]).to(self._device)
                    for layer in self._layers[:count]:
                        batch = self._run_layer(batch, layer, mask)
                    result[rows] = batch.cpu().numpy()
        return result

    def _run_layer(self, x: torch.Tensor, layer: list[torch.Tensor], mask: Any) -> torch.Tensor:
        from torch.nn import functional

        def normalize(y: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
            return functional.layer_norm(y, (y.shape[-1],), scale, shift, self._epsilon)

        attend, gather, attended, widen, narrow, output = zip(layer[::2], layer[1::2], strict=True)
        captions, length, width = x.shape
        query, key, value = (
            part.view(captions, length, self._heads, -1).transpose(1, 2)
            for part in functional.linear(x, *attend).split(width, dim=-1)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(captions, length, width)
        x = normalize(x + functional.linear(mixed, *gather), *attended)
        inner = functional.gelu(functional.linear(x, *widen))
        return normalize(x + functional.linear(inner, *narrow), *output)
