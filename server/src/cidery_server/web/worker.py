"""One background worker, a process of its own: `python -m cidery_server.web.worker`."""

from __future__ import annotations

from cidery.runtime import end_with_parent
from cidery_server.web.environment import Environment, set_up

POLL_SECONDS = 1.0


def main() -> None:
    """Work on the queue until a signal to stop; SIGTERM lets the running job finish."""
    set_up(Environment.read())
    from django.utils.module_loading import autodiscover_modules

    from cidery_server.web.queue import WorkerConsumer, queue

    autodiscover_modules("tasks")
    end_with_parent()
    WorkerConsumer(queue, workers=1, max_delay=POLL_SECONDS, graceful_signal="TERM").run()


if __name__ == "__main__":
    main()
