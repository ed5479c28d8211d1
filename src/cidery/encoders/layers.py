"""Layers of a model, run by the native core or by torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from cidery import _native
from cidery.encoders.base import Floats32, Integers
from cidery.encoders.model import Layer, Model
from cidery.errors import DataError, MissingExtraError, SettingError

if TYPE_CHECKING:
    import torch

MAX_BATCH_TOKENS = 1 << 14
"""Maximum number of tokens in a batch of torch."""


class Layers(Protocol):
    """Layers of a model."""

    @property
    def kernel(self) -> str:
        """Compute kernel, for signatures."""

    def run(self, states: Floats32, offsets: Integers, count: int, threads: int) -> Floats32:
        """Run `count` layers; caption i has tokens [offsets[i], offsets[i + 1])."""


class NativeLayers:
    """Layers in the native core; results do not depend on other captions in the batch."""

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
        """`avx2` (also with AVX-512, which gives the same bits) or `portable`."""
        return self._encoder.kernel

    def run(self, states: Floats32, offsets: Integers, count: int, threads: int) -> Floats32:
        """Run `count` layers."""
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
    """Return MPNet's relative attention bias: float32[heads, longest, longest].

    Distances are bucketed: one bucket each up to 7, logarithmic ones up to 128, one beyond; half
    of the rows are for each direction (Raffel et al. 2020).
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
    """Layers in torch, on a GPU if available; captions of one length form a batch."""

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
        """`torch-` and the instruction set, or `torch-cuda-` and the name of the GPU."""
        return name_torch_kernel(self._device)

    def run(self, states: Floats32, offsets: Integers, count: int, threads: int) -> Floats32:  # noqa: ARG002
        """Run `count` layers."""
        import torch

        result = np.empty_like(states)
        lengths = np.diff(offsets)
        with torch.inference_mode():
            for length in np.unique(lengths):
                starts = offsets[:-1][lengths == length]
                bias = bias_attention(self._distances, int(length))
                mask = None if bias is None else torch.from_numpy(bias).to(self._device)
                step = max(1, MAX_BATCH_TOKENS // max(1, int(length)))
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


def name_torch_kernel(device: torch.device) -> str:
    """Return the name of what computes on a device, for signatures."""
    import torch

    if device.type == "cpu":
        kind = torch.backends.cpu.get_cpu_capability()
    elif device.type == "cuda":
        kind = f"cuda-{torch.cuda.get_device_name(device)}"
    else:
        kind = device.type
    return "-".join(f"torch-{kind}".lower().split())
