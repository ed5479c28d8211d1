"""A torchmetrics `Metric`: update, compute, reset, on one process or on many."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from cidery.corpus import ImageId
from cidery.errors import InputError, MissingExtraError
from cidery.metrics import MetricsLike, get_metrics
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import FrequenciesLike
from cidery.text import TokenizerLike, choose_tokenizer

try:
    import torch
    import torchmetrics
except ImportError:
    raise MissingExtraError.to(
        "score captions in torchmetrics", package="torchmetrics", extra="torch"
    ) from None


class CaptionScore(torchmetrics.Metric):
    """Corpus scores of captions, by name, over all batches and all processes.

    What processes exchange are the captions themselves. Scores cannot be averaged over processes
    (BLEU pools counts), and CIDEr's document frequencies are those of all images of all processes.
    With ids, an image that a distributed sampler hands out twice counts once.

    ```python
    metric = CaptionScore(["cider-d", "bleu-4"], frequencies="coco-val2014")
    metric.update(["a dog runs"], [["a dog is running", "the dog runs"]])
    metric.compute()["cider-d"]
    ```
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    def __init__(
        self,
        metrics: MetricsLike = None,
        *,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
        frequencies: FrequenciesLike = "references",
        **settings: Any,
    ) -> None:
        """Choose metrics, tokenizer, language and frequencies as for `cidery.score`.

        The other settings are torchmetrics' own, such as `sync_on_compute`.
        """
        super().__init__(**settings)
        self.metrics = get_metrics(metrics, language=language)
        lower = any(metric.lower_is_better for metric in self.metrics.values())
        object.__setattr__(self, "higher_is_better", not lower)  # torchmetrics has one per class
        self.tokenizer = choose_tokenizer(tokenizer, language)
        self.frequencies = frequencies
        self.lines: list[torch.Tensor] | torch.Tensor
        # uint8: JSON, a line per prediction; laid end to end, the lines of two processes are JSON
        # lines again.
        self.add_state("lines", default=[], dist_reduce_fx="cat")

    def update(
        self,
        preds: Sequence[str],
        target: Sequence[str] | Sequence[Sequence[str]],
        ids: Sequence[ImageId] | None = None,
    ) -> None:
        """Add captions, each with its references or its only one, and with its image's id."""
        if isinstance(preds, str) or isinstance(target, str):
            raise InputError("expected lists of captions, not a single text")
        if len(preds) != len(target) or (ids is not None and len(ids) != len(preds)):
            raise InputError(
                f"there are {len(preds)} predictions, references for {len(target)}"
                + ("" if ids is None else f" and {len(ids)} ids")
            )
        images: Sequence[Any] = [None] * len(preds) if ids is None else ids
        if not preds:
            return
        entries = zip(images, preds, target, strict=True)
        text = "".join(
            json.dumps([_plain(image), caption, [refs] if isinstance(refs, str) else list(refs)])
            + "\n"
            for image, caption, refs in entries
        )
        packed = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
        cast("list[torch.Tensor]", self.lines).append(packed.to(self.device))

    def compute(self) -> dict[str, torch.Tensor]:
        """Return the corpus scores by name."""
        predictions, references = _read_lines(self.lines)
        if not predictions:
            raise InputError("there are no captions; call update before compute")
        table = score(
            predictions,
            references,
            self.metrics,
            tokenizer=self.tokenizer,
            frequencies=self.frequencies,
        )
        return {
            name: torch.tensor(value, dtype=torch.float64) for name, value in table.corpus.items()
        }

    def sync(self, *arguments: Any, **settings: Any) -> None:
        """Gather the captions of all processes; some may have none."""
        if isinstance(self.lines, list) and not self.lines:
            self.lines.append(torch.empty(0, dtype=torch.uint8, device=self.device))
        super().sync(*arguments, **settings)


def _plain(image: Any) -> ImageId | None:
    """Return an id that JSON can hold; tensors and NumPy scalars become integers."""
    plain: ImageId | None = image.item() if hasattr(image, "item") else image
    return plain


def _read_lines(
    lines: list[torch.Tensor] | torch.Tensor,
) -> tuple[list[str], list[list[str]]]:
    """Return captions and references; of those with the same id the first."""
    parts = lines if isinstance(lines, list) else [lines]
    text = b"".join(part.cpu().numpy().tobytes() for part in parts).decode()
    first: dict[Any, tuple[str, list[str]]] = {}
    for number, line in enumerate(text.split("\n")[:-1]):
        image, caption, references = json.loads(line)
        key = ("row", number) if image is None else ("image", image)
        first.setdefault(key, (caption, references))
    # Sorted: the sum does not depend on which process had which image.
    chosen = [first[key] for key in sorted(first, key=repr)] if first else []
    return [caption for caption, _ in chosen], [references for _, references in chosen]
