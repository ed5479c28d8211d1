"""Captioned events in videos, from files: ActivityNet Captions, its results, YouCook2."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from cidery.errors import FormatError


@dataclass(frozen=True, order=True)
class Event:
    """Caption of a part of a video."""

    start: float
    end: float
    """Seconds, or any other unit."""
    sentence: str


Events: TypeAlias = Mapping[str, Sequence[Event]]
"""Events by video."""


def read_events(path: str | os.PathLike[str]) -> dict[str, list[Event]]:
    """Read events with captions, by video, in the order of the file.

    Formats: ActivityNet Captions (`{video: {"timestamps": …, "sentences": …}}`), results of its
    challenge (`{"results": {video: [{"timestamp": …, "sentence": …}]}}`, or without `results`) and
    YouCook2 (`{"database": {video: {"annotations": [{"segment": …, "sentence": …}]}}}`).

    ```python
    Path("events.json").write_text('{"v": {"timestamps": [[0, 9]], "sentences": ["a dog runs"]}}')
    read_events("events.json")["v"][0].sentence   # "a dog runs"
    ```
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path} is not JSON: {error}") from None
    if isinstance(content, dict):
        for key in ("results", "database"):
            content = content[key] if isinstance(content.get(key), dict) else content
    if not isinstance(content, dict) or not content:
        raise FormatError(f"{path}: expected an object of videos with timestamps and sentences")
    return {video: _read_video(f"{path}, video {video!r}", one) for video, one in content.items()}


def _read_video(place: str, content: Any) -> list[Event]:
    if isinstance(content, dict) and "timestamps" in content:
        times, sentences = content["timestamps"], content.get("sentences")
        if not isinstance(times, list) or not isinstance(sentences, list):
            raise FormatError(f"{place}: timestamps and sentences must be lists")
        if len(times) != len(sentences):
            raise FormatError(f"{place}: {len(times)} timestamps for {len(sentences)} sentences")
        listed: Any = [
            {"timestamp": t, "sentence": s} for t, s in zip(times, sentences, strict=True)
        ]
    else:
        listed = content.get("annotations") if isinstance(content, dict) else content
    if not isinstance(listed, list):
        raise FormatError(f"{place}: expected a list of events")
    return [_read_event(f"{place}, event {n}", event) for n, event in enumerate(listed, 1)]


def _read_event(place: str, content: Any) -> Event:
    if not isinstance(content, dict):
        raise FormatError(f"{place}: expected an object with timestamp and sentence")
    times = content.get("timestamp", content.get("segment"))
    sentence = content.get("sentence", content.get("caption"))
    if not isinstance(times, list) or len(times) != 2 or not all(map(_is_number, times)):
        raise FormatError(f"{place}: a timestamp is two numbers, start and end, not {times!r}")
    if not isinstance(sentence, str):
        raise FormatError(f"{place}: expected text as sentence, found {sentence!r}")
    start, end = map(float, times)
    if start > end:
        raise FormatError(f"{place}: start {start:g} is after end {end:g}; swap them")
    return Event(start, end, sentence)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
