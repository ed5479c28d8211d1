"""Streams: score files that do not fit in memory, on one machine or a cluster.

A stream is a plan of small steps that read and write files. An engine runs the steps: processes of
this machine (`local`), or a Ray cluster (`ray`). Scores do not depend on the engine.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
