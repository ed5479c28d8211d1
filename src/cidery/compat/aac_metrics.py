"""aac-metrics' `Evaluate`, with the same keys and the same kind of values, without Java."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from cidery.errors import InputError, MissingExtraError, SettingError
from cidery.scoring.evaluation import score
from cidery.text import choose_tokenizer

try:
    import torch
except ImportError:
    raise MissingExtraError.to(
        "return tensors as aac-metrics does", package="torch", extra="torch"
    ) from None

Scores: TypeAlias = "tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]"
"""Corpus scores, and per-caption scores."""

METRICS = {
    "bleu_1": ("bleu-1",),
    "bleu_2": ("bleu-2",),
    "bleu_3": ("bleu-3",),
    "bleu_4": ("bleu-4",),
    "meteor": ("meteor",),
    "rouge_l": ("rouge-l",),
    "cider_d": ("cider-d",),
    "spice": ("spice",),
    "spider": ("cider-d", "spice"),
}
"""cidery's metrics by aac-metrics' names."""
_DEFAULT = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "meteor", "rouge_l", "spider")
SETS = {"default": _DEFAULT, "dcase2020": _DEFAULT}
"""Sets of metrics that need no model."""


class Evaluate:
    """Scores of captions under aac-metrics' names, as tensors of float64.

    BLEU, METEOR, ROUGE-L and CIDEr-D have aac-metrics' values. SPICE, and with it SPIDEr, is
    parsed by spaCy instead of the Java tool; scores are close but not identical. All metrics are
    scored together.

    ```python
    evaluate = Evaluate(metrics=["bleu_4", "cider_d"])
    corpus, sentences = evaluate(["a dog barks"], [["a dog is barking", "barking of a dog"]])
    corpus["cider_d"], sentences["cider_d"][0]
    ```
    """

    def __init__(
        self,
        preprocess: bool | Callable[[list[str]], list[str]] = True,
        metrics: str | Iterable[str] = "default",
        cache_path: Any = None,  # noqa: ARG002 - as those below
        java_path: Any = None,  # noqa: ARG002
        tmp_path: Any = None,  # noqa: ARG002
        device: Any = None,  # noqa: ARG002
        verbose: int = 0,  # noqa: ARG002
        *,
        language: str | None = None,
    ) -> None:
        """Choose metrics.

        Args:
            preprocess: True: Penn Treebank tokenizer on all captions as one document, as in
                aac-metrics; False: split at spaces; a function is called with all captions.
            metrics: Names in `METRICS`, or `"default"`.
            cache_path: Ignored.
            java_path: Ignored.
            tmp_path: Ignored.
            device: Ignored.
            verbose: Ignored.
            language: Language code, such as `"zh"`, that selects the tokenizer.
        """
        self.metrics = _find_metrics(metrics)
        self.preprocess = preprocess
        self.language = language
        self._tokenizer = choose_tokenizer(
            None if preprocess is True else "whitespace", language, default="ptb-coco"
        )
        self._candidates: list[str] = []
        self._references: list[Sequence[str]] = []

    def __call__(
        self, candidates: Sequence[str], mult_references: Sequence[Sequence[str]]
    ) -> Scores:
        """Return the scores of these and all added captions, and reset."""
        self.update(candidates, mult_references)
        try:
            return self.compute()
        finally:
            self.reset()

    def update(self, candidates: Sequence[str], mult_references: Sequence[Sequence[str]]) -> None:
        """Add captions for `compute`."""
        if len(candidates) != len(mult_references):
            raise InputError(
                f"{len(candidates)} candidates but references for {len(mult_references)}"
            )
        self._candidates.extend(candidates)
        self._references.extend(mult_references)

    def compute(self) -> Scores:
        """Return the scores of all added captions."""
        if not self._candidates:
            raise InputError("no candidates; pass some, or call update first")
        candidates, references = self._prepare()
        wanted = dict.fromkeys(name for metric in self.metrics for name in METRICS[metric])
        table = score(
            candidates,
            references,
            list(wanted),
            tokenizer=self._tokenizer,
            language=self.language,
        )
        corpus = {name: torch.tensor(table.corpus[name], dtype=torch.float64) for name in wanted}
        each = {name: torch.tensor(table.each[name], dtype=torch.float64) for name in wanted}
        return self._name(corpus), self._name(each)

    def reset(self) -> None:
        """Remove all added captions."""
        self._candidates, self._references = [], []

    def _prepare(self) -> tuple[list[str], list[list[str]]]:
        references = [list(listed) for listed in self._references]
        if not callable(self.preprocess):
            return self._candidates, references
        tokens = iter(self.preprocess([text for listed in references for text in listed]))
        tokenized = [[next(tokens) for _ in listed] for listed in references]
        return list(self.preprocess(self._candidates)), tokenized

    def _name(self, scores: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the scores under aac-metrics' names, in its order."""
        named: dict[str, torch.Tensor] = {}
        for metric in self.metrics:
            if metric == "spider":  # it returns its parts as well
                named["cider_d"], named["spice"] = scores["cider-d"], scores["spice"]
                named["spider"] = (named["cider_d"] + named["spice"]) / 2.0
            else:
                named[metric] = scores[METRICS[metric][0]]
        return named


def _find_metrics(metrics: str | Iterable[str]) -> tuple[str, ...]:
    names = SETS.get(metrics, (metrics,)) if isinstance(metrics, str) else tuple(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise SettingError(
            f"unknown metric {unknown[0]!r}; known: {', '.join([*METRICS, *SETS])}. For "
            "metrics on models, such as fense, call aac_metrics.Evaluate with their names"
        )
    return names
