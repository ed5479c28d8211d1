"""Running work: progress callbacks, worker processes, and results shared within one run."""

from cidery.runtime.memory import available_memory
from cidery.runtime.parent_process import end_with_parent
from cidery.runtime.processes import count_cores
from cidery.runtime.progress import (
    ProgressCallback,
    current_progress,
    ignore_progress,
    use_progress,
)
from cidery.runtime.workspace import Workspace

__all__ = [
    "ProgressCallback",
    "Workspace",
    "available_memory",
    "count_cores",
    "current_progress",
    "end_with_parent",
    "ignore_progress",
    "use_progress",
]
