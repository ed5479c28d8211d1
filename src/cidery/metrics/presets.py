"""Presets: lists of metrics, with settings, that a field or a benchmark reports together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cidery.errors import DataError, SettingError
from cidery.names import find_spelling, suggest_name
from cidery.storage import TomlError, parse_toml


@dataclass(frozen=True)
class Preset:
    """Metrics that are reported together."""

    name: str
    metrics: tuple[str, ...]
    """Names, families, and `name:setting=value,…`."""
    note: str = ""
    """Use of the preset."""


def _list(*presets: Preset) -> Mapping[str, Preset]:
    return MappingProxyType({preset.name: preset for preset in presets})


PRESETS = _list(
    Preset(
        "coco",
        ("bleu", "meteor", "rouge-l", "cider-d", "spice"),
        "COCO captions, as papers report them; their CIDEr is cider-d",
    ),
    Preset(
        "nocaps",
        ("bleu-1", "bleu-4", "meteor", "rouge-l", "cider-d", "spice"),
        "the leaderboard of nocaps; add --by domain",
    ),
    Preset(
        "dcase",
        ("meteor", "cider-d", "spice", "spider", "spider-fl", "fense", "vocab"),
        "captions of sounds, DCASE",
    ),
    Preset(
        "dense-video",
        ("bleu", "meteor", "cider-d"),
        "captions of events in videos; `cidery dense-video` matches the events first",
    ),
    Preset(
        "vlm",
        ("chair", "cider-r", "meteor", "bertscore-recall", "consensus"),
        "paragraphs of vision-language models: objects, and metrics robust to length",
    ),
)
"""Presets of cidery, by name."""


def get_preset(name: str) -> Preset:
    """Return a preset by name, or from a TOML file: `presets.toml` or `presets.toml:short`.

    ```python
    get_preset("nocaps").metrics   # ("bleu-1", "bleu-4", "meteor", "rouge-l", "cider-d", "spice")
    ```
    """
    known = find_spelling(name, PRESETS)
    if known is not None:
        return PRESETS[known]
    path, ending, chosen = name.rpartition(".toml")
    if not ending or (chosen and not chosen.startswith(":")):
        similar = suggest_name(name, PRESETS)
        listed = similar or f"known: {', '.join(PRESETS)}, or a file, presets.toml"
        raise SettingError(f"unknown preset {name!r}; {listed}")
    found = read_presets(path + ending)
    if not chosen and len(found) > 1:
        raise SettingError(
            f"{path + ending} has several presets; name one: {path}.toml:{next(iter(found))}"
        )
    wanted = chosen[1:] if chosen else next(iter(found))
    if wanted not in found:
        raise SettingError(f"{path + ending} has no preset {wanted!r}; it has: {', '.join(found)}")
    return found[wanted]


def read_presets(path: str) -> dict[str, Preset]:
    """Read a TOML file with a table for each preset: `metrics`, a list of names, and a `note`."""
    try:
        content = parse_toml(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"preset file not found: {path}") from None
    except (TomlError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not TOML: {error}") from None
    found = {name: _read(path, name, table) for name, table in content.items()}
    if not found:
        raise DataError(f"{path}: expected a table for each preset, such as [main], found none")
    return found


def _read(path: str, name: str, table: Any) -> Preset:
    metrics = table.get("metrics") if isinstance(table, dict) else None
    if not isinstance(metrics, list) or not all(isinstance(m, str) for m in metrics) or not metrics:
        raise DataError(f'{path}: [{name}] needs a list, metrics = ["cider-d", …]')
    unknown = sorted(set(table) - {"metrics", "note"})
    if unknown:
        raise DataError(f"{path}: [{name}] has {unknown[0]!r}; expected metrics and note")
    return Preset(name, tuple(metrics), str(table.get("note", "")))
