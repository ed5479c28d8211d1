"""CompletionReward: a reward for trainers that pass completions and columns of a data set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cidery.corpus import Corpus
from cidery.errors import InputError, SettingError
from cidery.rewards.reward import Reward, RewardMetric, choose_mix, end_captions
from cidery.rewards.tokens import END_WORD, as_array, is_array
from cidery.scoring.pipeline import PipelineSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack

_NOT_SETTINGS = ("self", "settings", "__class__")


class CompletionReward:
    """A metric, or a mix, as a reward function of TRL's GRPOTrainer and similar trainers.

    A completion is a text or a list of messages; the references are a column of the data set. The
    reward of a completion is `scale · min(max(metric, low), high)`.

    ```python
    reward = CompletionReward("cider-d", frequencies="coco-train2014")
    reward(completions=["a dog runs"], references=[["a dog is running", "the dog runs"]])
    ```
    """

    def __init__(
        self,
        metric: RewardMetric = "cider-d",
        *,
        column: str = "references",
        answer: str | None = None,
        without_answer: float = 0.0,
        scale: float = 1.0,
        clip: tuple[float, float] | None = None,
        count_eos: bool = False,
        eos: int | Collection[int] | None = None,
        **settings: Unpack[PipelineSettings],
    ) -> None:
        """Choose the metric and its settings.

        Args:
            metric: As in `Reward`: a name, a metric, a function or a mapping of these to weights.
            column: Column of references: one or several texts for each completion. The reward of a
                completion with None is None, and the trainer ignores it.
            answer: Name of a tag: score only the text between the last `<answer>` and `</answer>`.
                Default: score the whole completion.
            without_answer: Reward of a completion without that tag; it is not scaled or clipped.
            scale: Factor of the metric.
            clip: Minimum and maximum of the metric.
            count_eos: Count the end of a caption as a word, as in `Reward`. The frequencies must
                contain it: see `count_ended_frequencies`.
            eos: Ids that end a completion. With `count_eos=True`, a completion whose
                `completion_ids` do not end with one is truncated and has no end word.
            settings: As in `score`. `frequencies` are counted on the whole training set; a file is
                mapped into memory, so that the processes of a machine share it.
        """
        given = {name: value for name, value in locals().items() if name not in _NOT_SETTINGS}
        self._settings = given | settings
        pipeline, self._weights = choose_mix(metric, **settings)
        self.__name__ = "+".join(self._weights)
        weighed = [label for label, one in pipeline.metrics.items() if one.needs.frequencies]
        if weighed and pipeline.frequencies == "references":
            raise SettingError(
                f"{weighed[0]} weighs n-grams by document frequencies, which cannot be counted on "
                "the references of one batch; pass frequencies= with a file that `cidery "
                'frequencies build` made of the training set, or "coco-train2014"'
            )
        if not np.isfinite(scale):
            raise SettingError(f"scale must be a finite number, not {scale!r}")
        if clip is not None and not (len(clip) == 2 and clip[0] < clip[1]):
            raise SettingError(f"clip must be (minimum, maximum), not {clip!r}")
        if answer is not None and not (answer and answer.isidentifier()):
            raise SettingError(
                f"answer must be the name of a tag, such as 'answer', not {answer!r}"
            )
        self.column, self.answer, self.without_answer = column, answer, float(without_answer)
        self.scale, self.clip = float(scale), clip
        ends = (eos,) if isinstance(eos, int) else eos
        self._ends = None if ends is None else frozenset(ends)
        self._count_eos = count_eos
        self._plain = pipeline
        self._pipeline = end_captions(pipeline, END_WORD) if count_eos else pipeline

    def __reduce__(self) -> tuple[Any, ...]:
        # A file of frequencies travels by its name, and is mapped again by the process there.
        return _make_again, (self._settings,)

    def __repr__(self) -> str:
        return f"<CompletionReward {self.__name__} on the column {self.column!r}>"

    def __call__(
        self,
        completions: Sequence[Any],
        prompts: Any = None,  # noqa: ARG002
        completion_ids: Any = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return a reward for each completion; None where its references are None.

        Prompts and other columns are ignored, except ms-swift's `is_truncated`, which marks
        truncated completions.
        """
        if isinstance(completions, str | Mapping) or not hasattr(completions, "__len__"):
            raise InputError(f"expected a list of completions, not {completions!r}")
        groups = self._read_references(columns, len(completions))
        finished = self._find_finished(completion_ids, columns, len(completions))
        rewards: list[float | None] = [None] * len(completions)
        rows: list[int] = []
        texts: list[str] = []
        for row, (completion, group) in enumerate(zip(completions, groups, strict=True)):
            if group is None:
                continue
            text = self._find_answer(read_completion(completion, row))
            if text is None:
                rewards[row] = self.without_answer
            else:
                rows.append(row)
                texts.append(text)
        if rows:
            ended = None if finished is None else [finished[row] for row in rows]
            values = self._score(texts, [groups[row] for row in rows], ended)
            for row, value in zip(rows, values, strict=True):
                rewards[row] = value
        return rewards

    def _score(
        self, texts: list[str], groups: Sequence[Any], finished: Sequence[bool] | None
    ) -> list[float]:
        images = {group: place for place, group in enumerate(dict.fromkeys(groups))}
        corpus = Corpus.from_references([list(group) for group in images])
        self._plain.check_captions({"references": corpus.references})
        reward = Reward.prepare(corpus, self._pipeline, self._weights)
        values = reward([images[group] for group in groups], texts, finished=finished)
        if self.clip is not None:
            values = np.clip(values, *self.clip)
        scaled: list[float] = (self.scale * values).tolist()
        return scaled

    def _find_answer(self, text: str) -> str | None:
        if self.answer is None:
            return text
        # Found from behind without a pattern: a model may write any number of tags.
        end = text.rfind(f"</{self.answer}>")
        begin = text.rfind(f"<{self.answer}>", 0, max(end, 0))
        return text[begin + len(self.answer) + 2 : end].strip() if begin >= 0 else None

    def _find_finished(
        self, completion_ids: Any, columns: Mapping[str, Any], count: int
    ) -> list[bool] | None:
        """Return True for completions that ended with the end token; None if it is not needed."""
        if not self._count_eos:
            return None
        if self._ends is not None and completion_ids is not None:
            check_count(completion_ids, count, "completion_ids")
            return [bool(len(ids)) and int(ids[-1]) in self._ends for ids in completion_ids]
        truncated = columns.get("is_truncated")
        if truncated is None:
            return None
        check_count(truncated, count, "the column 'is_truncated'")
        return [not value for value in truncated]

    def _read_references(
        self, columns: Mapping[str, Any], count: int
    ) -> list[tuple[str, ...] | None]:
        if columns.get(self.column) is None:
            names = ", ".join(map(repr, sorted(set(columns) - {self.column}))) or "none"
            raise InputError(
                f"there is no column {self.column!r} of references; the columns are: {names}; name "
                "the right one with column=, and keep it in the data set "
                "(remove_unused_columns=False)"
            )
        given = columns[self.column]
        check_count(given, count, f"the column {self.column!r}")
        return [read_group(group, row, self.column) for row, group in enumerate(given)]


def check_count(values: Any, count: int, name: str) -> None:
    """Raise an InputError unless there is one value for each completion."""
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != count:
        size = len(values) if hasattr(values, "__len__") and not isinstance(values, str) else values
        raise InputError(f"{name} must have a value for each of {count} completions, not {size!r}")


def read_group(group: Any, row: int, column: str) -> tuple[str, ...] | None:
    """Return the references of one completion: a text, a list or array of texts, or None."""
    if group is None:
        return None
    listed = as_array(group).tolist() if is_array(group) else group
    texts = (listed,) if isinstance(listed, str) else listed
    if not isinstance(texts, list | tuple) or not texts:
        raise InputError(
            f"completion {row} has no references: the column {column!r} holds {group!r}; give a "
            "text or a list of texts, or None for a completion that is not to be scored"
        )
    if not all(isinstance(text, str) for text in texts):
        odd = next(text for text in texts if not isinstance(text, str))
        raise InputError(f"completion {row} has a reference that is not text: {odd!r}")
    return tuple(texts)


def read_completion(completion: Any, row: int) -> str:
    """Return the text of a completion: a text, a message, or messages, of which the last is read.

    Images and other parts that are not text are ignored; without text, the caption is empty.

    ```python
    read_completion([{"role": "assistant", "content": "a dog"}], row=0)   # "a dog"
    ```
    """
    content = completion
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and content and _is_message(content[-1]):
        spoken = [
            part for part in content if not (_is_message(part) and part.get("role") == "tool")
        ]
        content = (spoken or content)[-1]
    if _is_message(content):
        content = content.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and all(isinstance(part, Mapping) for part in content):
        return " ".join(str(part["text"]) for part in content if part.get("text") is not None)
    raise InputError(
        f"completion {row} is {str(completion)[:80]!r}: expected a text or a list of messages with "
        "a content"
    )


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and ("content" in value or "role" in value)


def _make_again(settings: dict[str, Any]) -> CompletionReward:
    return CompletionReward(**settings)
