"""End a process together with its parent."""

from __future__ import annotations

import os
import signal
import threading
import time

POLL_SECONDS = 1.0


def end_with_parent() -> None:
    """Send SIGTERM to this process when its parent has ended."""
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
