"""A process that does not outlive the one that started it, however that one ended."""

from __future__ import annotations

import os
import signal
import threading
import time

POLL_SECONDS = 1.0


def end_with_parent() -> None:
    """Watch the parent from now on; when it is gone, end this process as SIGTERM would."""
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
