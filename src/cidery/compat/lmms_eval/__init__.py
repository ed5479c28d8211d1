"""Tasks for lmms-eval that score once for all metrics, with intervals and signatures.

```console
$ tasks=$(python -m cidery.compat.lmms_eval)
$ python -m lmms_eval --include_path "$tasks" --tasks cidery_nocaps_val …
```

The files in `TASKS` name the functions below. lmms-eval calls `process_…` for each document, and
for each metric one of `AGGREGATIONS` with what was returned for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from cidery.errors import DataError, MissingExtraError
from cidery.scoring.evaluation import score

TASKS = Path(__file__).parent / "tasks"
"""The folder for `--include_path`."""

Item: TypeAlias = Mapping[str, Any]
Value: TypeAlias = float | str

METRICS = {
    "Bleu_1": "bleu-1",
    "Bleu_2": "bleu-2",
    "Bleu_3": "bleu-3",
    "Bleu_4": "bleu-4",
    "ROUGE_L": "rouge-l",
    "CIDEr": "cider-d",
    "METEOR": "meteor",
    "SPICE": "spice",
}
"""pycocoevalcap's names, and cidery's."""
OPTIONAL = ("meteor", "spice")
"""Metrics that need an extra; without it, their value is a text that names it."""
SIGNATURES = "signatures"
DIGITS = 4

# The tokenizer and the metrics of a language. "ptb-coco" reads all captions as one document, as
# the original does, so that the numbers are those of lmms-eval's own tasks.
_ENGLISH = ("ptb-coco", ("bleu", "rouge-l", "cider-d"), OPTIONAL)
# METEOR and SPICE are English; "words" takes Chinese characters one by one.
_CHINESE = ("words", ("bleu", "rouge-l", "cider-d"), ())
_LANGUAGES = {"en": _ENGLISH, "zh": _CHINESE}


def process_coco(doc: Item, results: Sequence[str]) -> dict[str, Item]:
    """COCO 2014 and 2017: the image's number is in its file's name."""
    return _make_items(_number_in(doc["question_id"]), doc["answer"], results)


def process_karpathy(doc: Item, results: Sequence[str]) -> dict[str, Item]:
    """The Karpathy splits."""
    return _make_items(_number_in(doc["filename"]), doc["sentences"], results)


def process_nocaps(doc: Item, results: Sequence[str]) -> dict[str, Item]:
    """The validation set of nocaps."""
    return _make_items(doc["image_id"], doc["annotations_captions"], results)


def process_flickr(doc: Item, results: Sequence[str]) -> dict[str, Item]:
    """Flickr30k."""
    return _make_items(doc["img_id"], doc["caption"], results)


def process_textcaps(doc: Item, results: Sequence[str]) -> dict[str, Item]:
    """TextCaps, validation."""
    return _make_items(doc["image_id"], doc["caption_str"], results)


def process_vatex(doc: Item, results: Sequence[str]) -> dict[str, Item]:
    """VATEX in English."""
    return _make_items(doc["videoID"], doc["enCap"], results)


def process_vatex_zh(doc: Item, results: Sequence[str]) -> dict[str, Item]:
    """VATEX in Chinese."""
    return _make_items(doc["videoID"], doc["chCap"], results, "zh")


def show_image(doc: Item) -> list[Any]:
    """Return the picture of a document."""
    return [doc["image"].convert("RGB")]


def show_image_of_url(doc: Item) -> list[Any]:
    """Fetch the picture of a document that has only an address, as lmms-eval's own task does."""
    theirs = import_module("lmms_eval.tasks.coco_cap.utils")
    shown: list[Any] = theirs.coco_doc_to_visual_karpathy(doc)
    return shown


def ask(
    doc: Item,  # noqa: ARG001 - lmms-eval passes it
    lmms_eval_specific_kwargs: Mapping[str, str],
) -> str:
    """Return the task's prompt."""
    return lmms_eval_specific_kwargs["prompt"]


def _make_items(
    image: Any, references: Sequence[str], results: Sequence[str], language: str = "en"
) -> dict[str, Item]:
    """Return the input of every metric: the same for all, since they are scored together."""
    item = {
        "image_id": image,
        "references": list(references),
        "candidate": results[0] if results else "",
        "language": language,
    }
    left_out = () if language == "en" else OPTIONAL
    names = [
        name for name in _name_values() if METRICS.get(name.split("_interval")[0]) not in left_out
    ]
    return dict.fromkeys(names, item)


def _number_in(name: str) -> int:
    """Return 391895 from `COCO_val2014_000000391895.jpg`."""
    return int(Path(name).stem.rpartition("_")[2])


def _aggregate(items: Sequence[Item], name: str) -> Value:
    """Return one of the scores of all metrics, which are computed once."""
    return _score(
        tuple(
            (item["image_id"], item["candidate"], tuple(item["references"]), item["language"])
            for item in items
        )
    )[name]


# One task's values are asked for one after the other.
@lru_cache(maxsize=1)
def _score(rows: tuple[tuple[Any, str, tuple[str, ...], str], ...]) -> Mapping[str, Value]:
    # A picture that two processes were given is there twice, and counts once.
    candidates = {image: candidate for image, candidate, _, _ in rows}
    references = {image: listed for image, _, listed, _ in rows}
    language = rows[0][3]
    tokenizer, metrics, optional = _LANGUAGES[language]
    missing = {name: why for name in optional if (why := _why_missing(name))}
    present = [*metrics, *(name for name in optional if name not in missing)]
    code = None if language == "en" else language
    table = score(candidates, references, present, tokenizer=tokenizer, language=code)
    intervals = table.intervals()
    values: dict[str, Value] = {}
    for name, ours in METRICS.items():
        if ours in table.corpus:
            found = intervals[ours]
            values[name] = float(table.corpus[ours])
            values[f"{name}_interval"] = f"[{found.low:.{DIGITS}f}, {found.high:.{DIGITS}f}]"
        elif ours in missing:
            values[name] = values[f"{name}_interval"] = missing[ours]
    values[SIGNATURES] = " ".join(table.signatures.values())
    return values


@lru_cache
def _why_missing(metric: str) -> str:
    """Return the missing extra of a metric; empty if it can run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score({0: "a dog"}, {0: ["a dog"]}, [metric])
    except (DataError, MissingExtraError):
        return f"needs cidery[{metric}]"
    return ""


def _name_values() -> Iterator[str]:
    for name in METRICS:
        yield name
        yield f"{name}_interval"
    yield SIGNATURES


def _make_aggregation(name: str) -> Callable[[Sequence[Item]], Value]:
    def aggregate(items: Sequence[Item]) -> Value:
        return _aggregate(items, name)

    aggregate.__name__ = aggregate.__qualname__ = name
    return aggregate


AGGREGATIONS: Mapping[str, Callable[[Sequence[Item]], Value]] = {
    name: _make_aggregation(name) for name in _name_values()
}
"""Aggregation functions of lmms-eval; task files name them `aggregate_CIDEr` and so on."""


def __getattr__(name: str) -> Any:
    found = AGGREGATIONS.get(name.removeprefix("aggregate_"))
    if found is None or not name.startswith("aggregate_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
