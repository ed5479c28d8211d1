"""Scene graphs in the user's cache directory, by caption and parser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cidery.metrics.spice.graph import SceneGraph
from cidery.store.shelf import Shelf

SHELF = "scene-graphs"


@dataclass(frozen=True)
class KeptGraphs:
    """Graphs that one version of one parser made."""

    parser: str

    def load(self, captions: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], SceneGraph]:
        """Return the graphs that are kept of these captions."""
        by_key = {self._key(caption): caption for caption in captions}
        found = {key: _decode(content) for key, content in Shelf(SHELF).load(by_key).items()}
        return {by_key[key]: graph for key, graph in found.items() if graph is not None}

    def save(self, graphs: Mapping[tuple[str, ...], SceneGraph]) -> None:
        """Keep graphs by their captions."""
        Shelf(SHELF).save({self._key(caption): _encode(graph) for caption, graph in graphs.items()})

    def _key(self, caption: tuple[str, ...]) -> bytes:
        return hashlib.sha256("\n".join((self.parser, *caption)).encode()).digest()


def _encode(graph: SceneGraph) -> bytes:
    return json.dumps(graph.tuples, ensure_ascii=False, separators=(",", ":")).encode()


def _decode(content: bytes) -> SceneGraph | None:
    """Return the graph; None where bytes went bad, which SQLite does not notice."""
    try:
        return SceneGraph.from_tuples(map(tuple, json.loads(content)))
    except (TypeError, ValueError):
        return None
