"""Interface of Hugging Face's `evaluate`: `compute(predictions=…, references=…)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from cidery.errors import InputError
from cidery.metrics import MetricsLike, get_metrics
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import FrequenciesLike
from cidery.text import TokenizerLike, choose_tokenizer

References: TypeAlias = Sequence[str] | Sequence[Sequence[str]]
"""References of each prediction: a list, or a single one."""


class CaptionMetrics:
    """cidery's metrics with the calls of `evaluate.EvaluationModule`; needs no extra package.

    ```python
    metrics = CaptionMetrics(["cider-d", "bleu"], frequencies="coco-val2014")
    metrics.compute(predictions=["a dog runs"], references=[["a dog is running", "the dog runs"]])
    ```
    """

    def __init__(
        self,
        metrics: MetricsLike = None,
        *,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
        frequencies: FrequenciesLike = "references",
    ) -> None:
        """Choose metrics, tokenizer, language and frequencies as for `cidery.score`."""
        self.metrics = get_metrics(metrics, language=language)
        self.tokenizer = choose_tokenizer(tokenizer, language)
        self.frequencies = frequencies
        self._predictions: list[str] = []
        self._references: list[Sequence[str]] = []

    @property
    def name(self) -> str:
        """The metrics' names."""
        return "+".join(self.metrics)

    def add(self, *, prediction: str, reference: str | Sequence[str]) -> None:
        """Add a prediction for the next `compute`."""
        self.add_batch(predictions=[prediction], references=[reference])

    def add_batch(self, *, predictions: Sequence[str], references: References) -> None:
        """Add predictions for the next `compute`."""
        if len(predictions) != len(references):
            raise InputError(
                f"there are {len(predictions)} predictions, but references for {len(references)}"
            )
        self._predictions.extend(predictions)
        self._references.extend([r] if isinstance(r, str) else r for r in references)

    def compute(
        self, *, predictions: Sequence[str] | None = None, references: References | None = None
    ) -> dict[str, float]:
        """Return the corpus scores by name of all added and given predictions, and reset."""
        if (predictions is None) != (references is None):
            raise InputError("pass predictions and references together")
        if predictions is not None and references is not None:
            self.add_batch(predictions=predictions, references=references)
        kept = self._predictions, self._references
        self._predictions, self._references = [], []
        if not kept[0]:
            raise InputError("there are no predictions; add some, or pass them to compute")
        table = score(*kept, self.metrics, tokenizer=self.tokenizer, frequencies=self.frequencies)
        return dict(table.corpus)
