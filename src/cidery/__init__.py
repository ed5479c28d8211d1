"""cidery evaluates captions by consensus: how close is a sentence to what most people would say?

```python
import cidery

table = cidery.score(candidates, references)
print(table)
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cidery._version import __version__ as __version__

if TYPE_CHECKING:
    from cidery import auditing as auditing
    from cidery import coco as coco
    from cidery import diversity as diversity
    from cidery import engines as engines
    from cidery import meta as meta
    from cidery import plots as plots
    from cidery import reports as reports
    from cidery import rewards as rewards
    from cidery.auditing import audit as audit
    from cidery.auditing import audit_files as audit_files
    from cidery.corpus.corpus import Corpus as Corpus
    from cidery.corpus.description import Description as Description
    from cidery.corpus.description import describe as describe
    from cidery.corpus.filtering import filter_references as filter_references
    from cidery.dense_video import score_dense_video as score_dense_video
    from cidery.diversity import measure_diversity as measure_diversity
    from cidery.diversity import rank_references as rank_references
    from cidery.diversity import score_references as score_references
    from cidery.doctor import diagnose as diagnose
    from cidery.encoders.features import ImageFeatures as ImageFeatures
    from cidery.engines import StreamResult as StreamResult
    from cidery.engines import score_stream as score_stream
    from cidery.errors import CideryError as CideryError
    from cidery.files import read_candidates as read_candidates
    from cidery.files import read_events as read_events
    from cidery.files import read_references as read_references
    from cidery.files import read_slices as read_slices
    from cidery.frequencies import DocumentFrequencies as DocumentFrequencies
    from cidery.hallucination.ledger import Ledger as Ledger
    from cidery.hallucination.ledger import compare_ledgers as compare_ledgers
    from cidery.hallucination.ledger import judge_claims as judge_claims
    from cidery.hallucination.objects import find_objects as find_objects
    from cidery.metrics.base import Metric as Metric
    from cidery.metrics.builtin import *  # noqa: F403
    from cidery.metrics.explanations import Explanation as Explanation
    from cidery.metrics.explanations import Span as Span
    from cidery.reports import write_report as write_report
    from cidery.rewards import Reward as Reward
    from cidery.scoring.comparison import Comparison as Comparison
    from cidery.scoring.comparison import compare as compare
    from cidery.scoring.evaluation import score as score
    from cidery.scoring.explaining import Explanations as Explanations
    from cidery.scoring.explaining import explain as explain
    from cidery.scoring.explaining import explain_captions as explain_captions
    from cidery.scoring.tables import ScoreTable as ScoreTable
    from cidery.text.tokenizers import tokenize as tokenize

_MODULES = {
    "CideryError": "errors",
    "Comparison": "scoring.comparison",
    "Corpus": "corpus.corpus",
    "Description": "corpus.description",
    "DocumentFrequencies": "frequencies",
    "Explanation": "metrics.explanations",
    "Explanations": "scoring.explaining",
    "ImageFeatures": "encoders.features",
    "Ledger": "hallucination.ledger",
    "Metric": "metrics.base",
    "Reward": "rewards",
    "ScoreTable": "scoring.tables",
    "Span": "metrics.explanations",
    "StreamResult": "engines",
    "audit": "auditing",
    "audit_files": "auditing",
    "compare": "scoring.comparison",
    "compare_ledgers": "hallucination.ledger",
    "describe": "corpus.description",
    "diagnose": "doctor",
    "explain": "scoring.explaining",
    "explain_captions": "scoring.explaining",
    "filter_references": "corpus.filtering",
    "find_objects": "hallucination.objects",
    "judge_claims": "hallucination.ledger",
    "measure_diversity": "diversity",
    "rank_references": "diversity",
    "read_candidates": "files",
    "read_events": "files",
    "read_references": "files",
    "read_slices": "files",
    "score": "scoring.evaluation",
    "score_dense_video": "dense_video",
    "score_references": "diversity",
    "score_stream": "engines",
    "tokenize": "text.tokenizers",
    "write_report": "reports",
}
"""Where each public name is defined; it is imported when it is first used.

Metrics are not here: `metrics.builtin` lists them. A test compares this with the imports above.
"""

_PACKAGES = ("auditing", "coco", "diversity", "engines", "meta", "plots", "reports", "rewards")
"""Packages that are public by their own name."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(import_module(f"cidery.{_MODULES[name]}"), name)
        if name in _PACKAGES:
            return import_module(f"cidery.{name}")
        if name == "__all__":
            metrics = import_module("cidery.metrics.builtin").__all__
            return sorted([*_MODULES, *_PACKAGES, *metrics, "__version__"])
        if name[:1].isupper():
            metrics = import_module("cidery.metrics.builtin")
            if name in metrics.__all__:
                return getattr(metrics, name)
        raise AttributeError(f"module 'cidery' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__getattr__("__all__")})
