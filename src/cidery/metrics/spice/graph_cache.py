"""Cache of scene graphs on disk, by caption, parser and the code that computes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache

from cidery.metrics.spice.graph import SceneGraph
from cidery.storage import CACHES, hash_library, list_versions

GRAPHS = CACHES["scene-graphs"]


def load_graphs(
    parser: str, captions: Iterable[tuple[str, ...]]
) -> dict[tuple[str, ...], SceneGraph]:
    """Return the cached graphs of captions for a parser version."""
    by_key = {_key(parser, caption): caption for caption in captions}
    found = {key: _decode(content) for key, content in GRAPHS.load(by_key).items()}
    return {by_key[key]: graph for key, graph in found.items() if graph is not None}


def save_graphs(parser: str, graphs: Mapping[tuple[str, ...], SceneGraph]) -> None:
    """Cache the graphs of captions."""
    GRAPHS.save({_key(parser, caption): _encode(graph) for caption, graph in graphs.items()})


def _key(parser: str, caption: tuple[str, ...]) -> bytes:
    return hashlib.sha256("\n".join((parser, _describe_code(), *caption)).encode()).digest()


@cache
def _describe_code() -> str:
    """Return the library's hash, and the versions of spaCy and what it requires."""
    return json.dumps([hash_library(), list_versions(["numpy", "spacy"])])


def _encode(graph: SceneGraph) -> bytes:
    return json.dumps(graph.tuples, ensure_ascii=False, separators=(",", ":")).encode()


def _decode(content: bytes) -> SceneGraph | None:
    """Return the graph; None if the bytes are damaged, which SQLite does not detect."""
    try:
        return SceneGraph.from_tuples(map(tuple, json.loads(content)))
    except (TypeError, ValueError):
        return None
