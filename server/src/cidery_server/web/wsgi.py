"""WSGI application of the web server's processes."""

from cidery_server.web.environment import Environment, set_up

set_up(Environment.read())

from django.core.wsgi import get_wsgi_application  # noqa: E402  # Django must be ready first

application = get_wsgi_application()
