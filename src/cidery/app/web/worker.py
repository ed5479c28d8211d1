"""One background worker, a process of its own: `python -m cidery.app.web.worker`."""

from __future__ import annotations

import logging
import threading
import time

from cidery.app.web.environment import Environment, set_up
from cidery.app.web.parent import end_with_parent

POLL_SECONDS = 1.0
log = logging.getLogger(__name__)


def main() -> None:
    """Work on the queue until told to stop; SIGTERM lets the job in hand finish."""
    set_up(Environment.read())
    from django.utils.module_loading import autodiscover_modules

    from cidery.app.web.queue import queue

    autodiscover_modules("tasks")
    end_with_parent()
    threading.Thread(target=_sweep_on, daemon=True).start()
    queue.create_consumer(
        workers=1, periodic=False, max_delay=POLL_SECONDS, graceful_signal="TERM"
    ).run()


def _sweep_on() -> None:
    """Sweep now and then, for as long as the process lives."""
    from django.conf import settings
    from django.db import close_old_connections

    from cidery.app.web.queue import SWEEPS

    while True:
        for sweep in SWEEPS:
            try:
                sweep()
            except Exception as error:  # the database may be away for a while
                log.warning("%s failed: %s", sweep.__name__, type(error).__name__)
        close_old_connections()
        time.sleep(settings.LEASE_SECONDS / 2)


if __name__ == "__main__":
    main()
