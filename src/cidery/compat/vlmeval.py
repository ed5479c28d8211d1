"""VLMEvalKit with tokenized captions and a working CIDEr.

```py
from cidery.compat import vlmeval
vlmeval.install()   # before run.py's evaluation; or, for a file of predictions that is there,
vlmeval.evaluate("outputs/model/model_COCO_VAL.tsv")
```
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from cidery.errors import FormatError
from cidery.files.containers import read_xlsx
from cidery.files.list_cells import parse_list
from cidery.files.sources import Source
from cidery.metrics import get_metrics
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import FrequenciesLike
from cidery.text import TokenizerLike, choose_tokenizer

METRICS = ("bleu", "rouge-l", "cider-d")
PERCENT = 100


class CaptionScorer:
    """VLMEvalKit's `COCO_Caption_Scorer`, with the Penn Treebank tokenizer that it lacks.

    Scores are percentages under the same keys. `signatures` has the signatures of the scores.

    ```python
    scorer = CaptionScorer({"0": ["a dog."]}, {"0": ["A dog runs."]})
    scorer.compute_scores()["ROUGE_L"]
    ```
    """

    def __init__(
        self,
        ref: Mapping[str, Sequence[str]],
        gt: Mapping[str, Sequence[str]],
        *,
        tokenizer: TokenizerLike | None = None,
        language: str | None = None,
    ) -> None:
        """Set captions by id.

        Args:
            ref: The *predictions* (VLMEvalKit's name for them), one for each id.
            gt: The references.
            tokenizer: Default: `"ptb-coco"`; `"whitespace"` gives VLMEvalKit's own scores.
            language: As for `cidery.score`.
        """
        self.predictions = {image: captions[0] for image, captions in ref.items()}
        self.references = {image: list(captions) for image, captions in gt.items()}
        self.metrics = get_metrics(METRICS, language=language)
        self.tokenizer = choose_tokenizer(tokenizer, language, default="ptb-coco")

    def compute_scores(self) -> dict[str, Any]:
        """Return `Bleu` (four numbers), `ROUGE_L` and `CIDEr`, and the signatures."""
        table = score(self.predictions, self.references, self.metrics, tokenizer=self.tokenizer)
        percent = {name: value * PERCENT for name, value in table.corpus.items()}
        return {
            "Bleu": [float(percent[f"bleu-{n}"]) for n in range(1, 5)],
            "ROUGE_L": float(percent["rouge-l"]),
            "CIDEr": float(percent["cider-d"]),
            "signatures": dict(table.signatures),
        }


def install(
    *, frequencies: FrequenciesLike = "coco-val2014", language: str | None = None
) -> list[str]:
    """Make VLMEvalKit score captions by cidery; return the replaced names.

    Args:
        frequencies: Document frequencies for MMSci's captions, which are scored one at a time.
            COCO's vocabulary fits scientific captions badly; better use a file of your own, see
            docs/frequencies.md.
        language: Language of the captions, as in `cidery.score`.
    """
    replaced = []
    captions = import_module("vlmeval.dataset.image_caption")
    scorer = CaptionScorer if language is None else partial(CaptionScorer, language=language)
    vars(captions)["COCO_Caption_Scorer"] = scorer
    replaced.append("vlmeval.dataset.image_caption.COCO_Caption_Scorer")
    with contextlib.suppress(ImportError):  # it needs packages of its own
        science = import_module("vlmeval.dataset.utils.mmsci")

        def compute(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> float:
            return compute_cider(
                predictions, references, frequencies=frequencies, language=language
            )

        vars(science)["compute_cider"] = compute
        replaced.append("vlmeval.dataset.utils.mmsci.compute_cider")
    return replaced


def compute_cider(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    frequencies: FrequenciesLike = "coco-val2014",
) -> float:
    """Return CIDEr-D in [0, 10] of predictions against their references.

    VLMEvalKit's function of this name always raises an error, and its caller then records 0.

    ```python
    compute_cider(["a dog runs"], [["a dog is running", "the dog runs"]])
    ```
    """
    table = score(
        list(predictions),
        [list(listed) for listed in references],
        ["cider-d"],
        tokenizer=tokenizer,
        language=language,
        frequencies=frequencies,
    )
    return float(table.corpus["cider-d"])


def evaluate(eval_file: str | os.PathLike[str], **settings: Any) -> dict[str, Any]:
    """Score a file of predictions that VLMEvalKit wrote for a caption data set.

    It has the columns `prediction` and `answer`, a list of references; TSV, CSV and JSON are read
    as they are, Excel (`.xlsx`) by openpyxl (extra `excel`). Settings are those of `CaptionScorer`.
    """
    path = Path(eval_file)
    predictions, references = {}, {}
    for number, row in enumerate(_read_rows(path), start=1):
        try:
            predictions[str(number)] = [str(row["prediction"])]
            answer = row["answer"]
            listed: Any = parse_list(answer) if isinstance(answer, str) else answer
            references[str(number)] = list(listed)
        except (KeyError, ValueError, SyntaxError, TypeError):
            raise FormatError(
                f"{path}, row {number}: expected a prediction and an answer that is a list of "
                f"captions, found {str(dict(row))[:80]}"
            ) from None
    if not predictions:
        raise FormatError(f"{path}: no rows")
    return CaptionScorer(predictions, references, **settings).compute_scores()


def _read_rows(path: Path) -> list[Mapping[str, Any]]:
    if path.suffix == ".json":
        content: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return content
    if path.suffix == ".xlsx":
        return list(read_xlsx(path.read_bytes(), Source(str(path), "row")))
    csv.field_size_limit(sys.maxsize)  # a row may hold a picture
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))
