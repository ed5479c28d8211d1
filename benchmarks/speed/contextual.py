"""BERTScore against the package bert_score, in one run.

5,000 images x 5 references + 1 candidate, MiniLM, all six layers. Both sides start from strings;
their scores are compared before any figure is printed. The encoder's limit is the time that its
multiplications alone would take at the rate of NumPy's largest matrix product on this machine.

`--stacks` compares instead what can run the layers, on 1,000 captions and one core: the native
core, torch, NumPy with SciPy's erf, and ONNX Runtime if it is installed (with onnx).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

if "--stacks" in sys.argv:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import numpy as np
import workloads

from cidery import BertScore, score, storage
from cidery.encoders import get_encoder, layers
from cidery.encoders.base import number_distinct
from cidery.encoders.layers import bias_attention, list_arrays
from cidery.encoders.transformer import TransformerEncoder

LAYER = 6


@contextmanager
def timed(owner: Any, name: str) -> Iterator[list[float]]:
    """Collect the seconds of every call of a function."""
    function, seconds = getattr(owner, name), []

    def call(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            seconds.append(time.perf_counter() - start)

    setattr(owner, name, call)
    try:
        yield seconds
    finally:
        setattr(owner, name, function)


def run_package(
    candidates: list[str], references: list[list[str]], batch_size: int = 64
) -> tuple[np.ndarray, float]:
    """Return F of bert_score, and the seconds of its forward passes."""
    import bert_score
    from bert_score import utils

    with timed(utils, "bert_encode") as forward:
        found = bert_score.score(
            candidates,
            references,
            model_type=str(storage.find_model("minilm")),
            num_layers=LAYER,
            batch_size=batch_size,
            device="cpu",
        )
    return found[2].numpy(), sum(forward)


def run_ours(candidates: list[str], references: list[list[str]]) -> tuple[np.ndarray, float]:
    """Return F of cidery, and the seconds of its forward passes."""
    with timed(layers.NativeLayers, "run") as forward:
        table = score(candidates, references, metrics=[BertScore(layer=LAYER)])
    return table.each["bertscore"], sum(forward)


def count_operations(encoder: TransformerEncoder, captions: list[str]) -> float:
    """Return the additions and multiplications of the matrices that captions go through."""
    tokens = encoder.tokens(number_distinct(captions)[0], layer=0)
    lengths = np.diff(np.unique(np.append(tokens.starts, tokens.ends)))
    width = tokens.states.shape[1]
    return float(LAYER * (24 * width**2 * lengths.sum() + 4 * width * np.square(lengths).sum()))


def measure_limit() -> float:
    """Return operations per second of a large matrix product, all cores at work."""
    one = np.random.default_rng(0).random((3072, 3072), np.float32)
    best = min(_seconds(lambda: one @ one) for _ in range(5))
    return 2 * 3072**3 / best


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def check_scores(
    ours: np.ndarray, theirs: np.ndarray, captions: list[str], references: list[list[str]]
) -> tuple[int, float]:
    """Return how many captions bert_score scores otherwise alone, and the largest difference then.

    Beside a longer caption, bert_score counts a similarity below 0 as 0.
    """
    odd = np.flatnonzero(np.abs(ours - theirs) > 1e-5)
    if len(odd):
        alone = [captions[i] for i in odd], [references[i] for i in odd]
        theirs[odd], _ = run_package(*alone, batch_size=1)
    apart = float(np.abs(ours - theirs).max())
    assert apart < 1e-5, f"scores differ by {apart}"
    return len(odd), apart


def compare_packages(images: int, rounds: int) -> None:
    candidates, known = workloads.small()
    ids = list(candidates)[:images]
    captions, references = [candidates[i] for i in ids], [known[i] for i in ids]
    encoder = get_encoder("minilm")
    operations = count_operations(
        encoder, captions + [text for group in references for text in group]
    )
    limit = operations / measure_limit()
    print(f"{images} images, {operations / 1e12:.2f} Tflop in {LAYER} layers")
    for _ in range(rounds):
        start = time.perf_counter()
        ours, forward = run_ours(captions, references)
        middle = time.perf_counter()
        theirs, their_forward = run_package(captions, references)
        end = time.perf_counter()
        lonely, apart = check_scores(ours, theirs, captions, references)
        mine, package = middle - start, end - middle
        print(
            f"bert_score {package:6.1f} s (forward {their_forward:.1f} s)   "
            f"cidery {mine:6.1f} s (forward {forward:.1f} s, {forward / mine:.0%} of it; "
            f"{limit:.1f} s at the rate of a matrix product)   "
            f"ratio {package / mine:.2f}, scores within {apart:.0e}; "
            f"{lonely} of them only when bert_score pads nothing"
        )


def run_numpy(model: Any, states: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Take states through the layers with NumPy; captions of one length make a batch."""
    from scipy.special import erf

    def normalize(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
        x = x - x.mean(axis=-1, keepdims=True)
        return (
            x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + model.epsilon) * scale + shift
        )

    result, lengths = np.empty_like(states), np.diff(offsets)
    for length in np.unique(lengths):
        rows = offsets[:-1][lengths == length][:, None] + np.arange(length)
        x = states[rows]
        for layer in model.layers:
            arrays = list_arrays(layer)
            attend, gather, attended, widen, narrow, output = zip(
                arrays[::2], arrays[1::2], strict=True
            )
            shape = (*x.shape[:2], 3, model.heads, -1)
            parts = (x @ attend[0].T + attend[1]).reshape(shape).transpose(2, 0, 3, 1, 4)
            scores = parts[0] @ parts[1].swapaxes(-1, -2) / np.float32(parts.shape[-1] ** 0.5)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ parts[2]
            mixed = mixed.transpose(0, 2, 1, 3).reshape(x.shape)
            x = normalize(x + mixed @ gather[0].T + gather[1], *attended)
            inner = x @ widen[0].T + widen[1]
            inner *= 0.5 * (1 + erf(inner * np.float32(0.5**0.5)))
            x = normalize(x + inner @ narrow[0].T + narrow[1], *output)
        result[rows] = x
    return result


def open_onnx() -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what runs the model in ONNX Runtime; ImportError where that is not installed."""
    import io

    import onnxruntime
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(
        storage.find_model("minilm"), attn_implementation="eager"
    ).eval()
    example = torch.ones(2, 7, dtype=torch.long)
    file = io.BytesIO()
    torch.onnx.export(
        model,
        (example, torch.ones_like(example)),
        file,
        dynamo=False,
        input_names=["ids", "mask"],
        output_names=["states"],
        dynamic_axes={"ids": {0: "b", 1: "t"}, "mask": {0: "b", 1: "t"}},
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file.getvalue(), options)

    def run(ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        result, lengths = np.empty((len(ids), 384), np.float32), np.diff(offsets)
        for length in np.unique(lengths):
            rows = offsets[:-1][lengths == length][:, None] + np.arange(length)
            batch = ids[rows]
            result[rows] = session.run(["states"], {"ids": batch, "mask": np.ones_like(batch)})[0]
        return result

    return run


def compare_stacks(captions: int) -> None:
    known = workloads.small()[1]
    texts = [text for group in known.values() for text in group][:captions]
    encoder = get_encoder("minilm")
    cut = encoder._cut(texts)
    ids, offsets = cut.ids, cut.offsets
    states = encoder._embed_tokens(ids, offsets)
    model = encoder._model
    assert bias_attention(model.distances, 4) is None
    torch_layers = layers.TorchLayers(model, "cpu")
    stacks: dict[str, Callable[[], np.ndarray]] = {
        "native core": lambda: encoder._layers.run(states, offsets, LAYER, 1),
        "torch": lambda: torch_layers.run(states, offsets, LAYER, 1),
        "NumPy": lambda: run_numpy(model, states, offsets),
    }
    try:
        run_onnx = open_onnx()
        stacks["ONNX Runtime"] = lambda: run_onnx(ids, offsets)
    except ImportError as error:
        print(f"without ONNX Runtime: {error}")
    expected = stacks["torch"]()
    for name, work in stacks.items():
        apart = np.abs(work() - expected).max()
        seconds = []
        for _ in range(3):
            start = time.process_time()
            work()
            seconds.append(time.process_time() - start)
        print(f"{name:14} {min(seconds):6.2f} s of one core, states within {apart:.0e} of torch's")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--stacks", action="store_true")
    chosen = parser.parse_args()
    if chosen.stacks:
        compare_stacks(1000)
    else:
        compare_packages(chosen.images, chosen.rounds)


if __name__ == "__main__":
    main()
