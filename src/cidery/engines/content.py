"""Content of everything that scores depend on, apart from captions and references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cidery.frequencies import DocumentFrequencies
from cidery.metrics import Metric
from cidery.plugins import load_plugin
from cidery.storage import (
    UnknownContentError,
    hash_content,
    hash_library,
    hash_path,
    list_dependencies,
)
from cidery.text import Tokenizer

UNKNOWN = "unknown: "
"""Prefix of an entry without a hash; the rest is the reason."""


def describe_content(
    metrics: Mapping[str, Metric],
    tokenizer: Tokenizer,
    frequencies: str | DocumentFrequencies = "references",
) -> dict[str, str]:
    """Return hashes and versions by the name that messages show.

    Runs with equal entries give equal scores for equal inputs. Shipped data belong to the library.
    """
    content = describe_code()
    content["the tokenizer"] = _hash(tokenizer)
    if isinstance(frequencies, DocumentFrequencies):
        content["the document frequencies"] = frequencies.fingerprint
    for label, metric in metrics.items():
        content[f"the metric {label!r}"] = _hash(*list_content(metric))
    return content


def describe_code() -> dict[str, str]:
    """Return the hash of the library and the versions of packages, by the name in messages."""
    packages = {f"the package {name}": found for name, found in list_dependencies().items()}
    return {"cidery": hash_library(), **packages}


def list_content(metric: Metric) -> Iterator[object]:
    """Yield a metric, its settings in signatures, and the content of files and plug-ins."""
    yield metric
    yield metric.settings() | metric.data_settings()
    yield {name: hash_path(path) for name, path in metric.needs.files.items()}
    encoder = getattr(metric, "encoder", None)
    if isinstance(encoder, str) and (loaded := load_plugin("encoder", encoder)) is not None:
        yield loaded.value


def _hash(*values: object) -> str:
    try:
        return hash_content(values)
    except UnknownContentError as error:
        return f"{UNKNOWN}{error}"


def find_unknown(content: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the entries without a hash: name and reason."""
    for name, found in content.items():
        if found.startswith(UNKNOWN):
            yield name, found.removeprefix(UNKNOWN)
