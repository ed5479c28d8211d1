"""Per-row scores of pandas and polars data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from cidery.corpus import Notice, issue_notices
from cidery.errors import InputError, SettingError
from cidery.files.list_cells import split_cells
from cidery.files.sources import Source
from cidery.metrics import MetricsLike
from cidery.scoring.evaluation import score
from cidery.scoring.pipeline import FrequenciesLike
from cidery.text import TokenizerLike

Frame = TypeVar("Frame")


def score_frame(
    frame: Frame,
    references: Any = "references",
    metrics: MetricsLike = None,
    *,
    image: str = "image_id",
    caption: str = "caption",
    tokenizer: TokenizerLike | None = None,
    language: str | None = None,
    frequencies: FrequenciesLike = "references",
) -> Frame:
    """Return the frame with a column of scores for each metric, with unchanged rows and index.

    An image may have several rows. Scores are those of `cidery.score` on the same captions.

    Args:
        frame: A pandas or polars frame with a row for each candidate.
        references: The name of a column of lists of references, a frame with a row for each
            reference (`image` and `caption`), or references by image id.
        metrics: As for `cidery.score`.
        image: The column of image ids; not needed where references are a column.
        caption: The column of captions.
        tokenizer: As for `cidery.score`.
        language: As for `cidery.score`.
        frequencies: As for `cidery.score`.

    ```python
    frame = pandas.DataFrame({"caption": ["a dog"], "references": [["a dog runs", "dogs"]]})
    score_frame(frame, metrics=["bleu-1", "rouge-l"])
    ```
    """
    library = _library(frame)
    captions = _column(frame, caption)
    if isinstance(references, str):
        # Each row brings its references, so each is an image of its own.
        ids: list[Any] = list(range(len(captions)))
        groups: Any = dict(enumerate(map(_as_list, _split(_column(frame, references), references))))
    else:
        ids = _column(frame, image)
        groups = _group(references, image, caption)
    table = score(
        list(zip(ids, captions, strict=True)),
        groups if isinstance(references, str) else _only(groups, ids),
        metrics,
        tokenizer=tokenizer,
        language=language,
        frequencies=frequencies,
    )
    taken = [name for name in table.each if name in _columns(frame)]
    if taken:
        raise SettingError(
            f"the frame has columns named {', '.join(taken)} already; rename or drop them first"
        )
    given: Any = frame
    if library == "pandas":
        scored = given.assign(**table.each)
    else:
        import polars

        scored = given.with_columns(
            [polars.Series(name, values) for name, values in table.each.items()]
        )
    result: Frame = scored
    return result


def _library(frame: Any) -> str:
    """Return `pandas` or `polars` without importing either."""
    name = type(frame).__module__.partition(".")[0]
    if name not in ("pandas", "polars") or type(frame).__name__ != "DataFrame":
        raise InputError(
            f"expected a DataFrame of pandas or polars, not {type(frame).__name__}"
            + ("; call collect() first" if type(frame).__name__ == "LazyFrame" else "")
        )
    return name


def _columns(frame: Any) -> list[str]:
    return list(frame.columns)


def _column(frame: Any, name: str) -> list[Any]:
    if name not in _columns(frame):
        raise InputError(f"the frame has no column {name!r}; it has {', '.join(_columns(frame))}")
    values: list[Any] = frame[name].to_list()
    return values


def _split(values: list[Any], name: str) -> list[Any]:
    """Return a column with lists in place of lists in text, which `read_csv` of pandas returns."""
    found = split_cells(values, name, Source("the frame", "row"))
    if found is None:
        return values
    lists, form = found
    message = f"the frame: the column {name!r} has {form}, read as lists"
    issue_notices([Notice("list-text", message, len(lists), str(values[0])[:200])])
    return lists


def _as_list(references: Any) -> Sequence[str]:
    if isinstance(references, str):
        return [references]
    listed: Sequence[str] = references.tolist() if hasattr(references, "tolist") else references
    return listed


def _group(references: Any, image: str, caption: str) -> Mapping[Any, Sequence[str]]:
    if isinstance(references, Mapping):
        return references
    _library(references)
    groups: dict[Any, list[str]] = {}
    pairs = zip(_column(references, image), _column(references, caption), strict=True)
    for key, text in pairs:
        groups.setdefault(key, []).append(text)
    return groups


def _only(groups: Mapping[Any, Sequence[str]], ids: list[Any]) -> Mapping[Any, Sequence[str]]:
    """Return the references of the images in the frame; `score` reports unknown ids."""
    kept = {key: groups[key] for key in dict.fromkeys(ids) if key in groups}
    return kept if kept else groups
