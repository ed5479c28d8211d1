"""Settings of gunicorn; `cidery serve` adds the address and the number of processes."""

from typing import Any

from cidery.runtime import end_with_parent

wsgi_app = "cidery_server.web.wsgi:application"
worker_class = "gthread"
threads = 8
keepalive = 30
graceful_timeout = 10
loglevel = "warning"
control_socket_disable = True


def when_ready(server: Any) -> None:  # noqa: ARG001  # gunicorn passes it
    """Begin to watch the process that started this one."""
    end_with_parent()
