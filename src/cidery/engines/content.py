"""Content of everything that the scores of a stream depend on, apart from its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cidery.frequencies import DocumentFrequencies
from cidery.metrics import Metric
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
    content = {"cidery": hash_library()}
    content |= {f"the package {name}": found for name, found in list_dependencies().items()}
    content["the tokenizer"] = _hash(tokenizer)
    if isinstance(frequencies, DocumentFrequencies):
        content["the document frequencies"] = frequencies.fingerprint
    for label, metric in metrics.items():
        files = {name: hash_path(path) for name, path in metric.needs.files.items()}
        content[f"the metric {label!r}"] = _hash(metric, metric.data_settings(), files)
    return content


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
