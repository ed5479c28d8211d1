"""Streams: score files that do not fit in memory, on one machine or a cluster.

A stream is a plan of small steps that read and write files. An engine runs the steps: processes of
this machine (`local`), or a Ray cluster (`ray`). Scores do not depend on the engine.
"""

from cidery.engines.base import ENGINES, Engine, EngineLike, Pool, get_engine, use_engine
from cidery.engines.counting import count_frequencies
from cidery.engines.results import StreamResult
from cidery.engines.streaming import score_stream

__all__ = [
    "ENGINES",
    "Engine",
    "EngineLike",
    "Pool",
    "StreamResult",
    "count_frequencies",
    "get_engine",
    "score_stream",
    "use_engine",
]
