"""Django's settings, built from the environment; read once, when a process starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url

from cidery.reports import STATIC
from cidery_server.web.environment import QUEUE_FILE, Environment

ENVIRONMENT = Environment.read()
APPS_WITH_PAGES = ("cidery_server.studies", "cidery_server.challenges")
"""Apps with pages; each has `urls.urlpatterns`, and may have `tasks`."""

SECRET_KEY = ENVIRONMENT.secret_key()
DEBUG = False
# Behind a proxy the host is checked against the URL; without a proxy any host is accepted.
ALLOWED_HOSTS = [urlsplit(ENVIRONMENT.url).hostname or "*"] if ENVIRONMENT.url else ["*"]
CSRF_TRUSTED_ORIGINS = [ENVIRONMENT.url] if ENVIRONMENT.url else []
ROOT_URLCONF = "cidery_server.web.urls"
WSGI_APPLICATION = "cidery_server.web.wsgi.application"
APPEND_SLASH = False
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
# Judges' pages are in the language of their study, all others in the reader's, see `languages`.
USE_I18N = True
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [Path(__file__).parents[1] / "locale"]
FORMAT_MODULE_PATH = "cidery_server.web.formats"
LANGUAGE_COOKIE_NAME = "language"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "csp",
    "knox",
    "rest_framework",
    "drf_spectacular",
    "cidery_server.web",
    *APPS_WITH_PAGES,
]
MIDDLEWARE = [
    # Those that add headers come first, so that files and refusals have them, too.
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "cidery_server.web.cache_headers.NoStoreMiddleware",
    "cidery_server.web.languages.LanguageMiddleware",
    "cidery_server.web.limits.SizeLimit",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "cidery_server.web.navigation.add_app_links",
            ],
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.l10n",
                "cidery_server.web.templatetags.words",
            ],
        },
    },
]

DATABASES = {
    "default": dj_database_url.parse(
        ENVIRONMENT.database_url, conn_max_age=600, conn_health_checks=True
    )
}
if not ENVIRONMENT.on_postgresql:
    # IMMEDIATE: a transaction that will write waits for its turn instead of failing half-way.
    # WAL: readers do not wait for writers.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }

# Of what was asked for a moment ago; rate limits have a table of their own.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"}
}

if ENVIRONMENT.queue.startswith("redis"):
    QUEUE: dict[str, str] = {"class": "RedisHuey", "url": ENVIRONMENT.queue}
elif ENVIRONMENT.queue or ENVIRONMENT.on_postgresql:
    QUEUE = {"class": "PostgresHuey", "dsn": ENVIRONMENT.queue or ENVIRONMENT.database}
else:
    QUEUE = {"class": "SqliteHuey", "filename": str(ENVIRONMENT.data / QUEUE_FILE)}
LEASE_SECONDS = ENVIRONMENT.lease
ENGINE, ENGINE_ADDRESS = ENVIRONMENT.engine, ENVIRONMENT.engine_address

AUTH_USER_MODEL = "web.Account"
PASSWORD_HASHERS = ["cidery_server.web.passwords.PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "CommonPasswordValidator")
] + [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "cidery_server.web.passwords.VarietyValidator"},
]
LOGIN_URL = "sign-in"
PASSWORD_RESET_TIMEOUT = 3 * 24 * 60 * 60
SESSION_ENGINE = "cidery_server.web.sessions"
SESSION_COOKIE_AGE = 14 * 24 * 60 * 60
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT.https
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

if ENVIRONMENT.proxies:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if ENVIRONMENT.https else 0
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        # Studies may show images by URL.
        "img-src": ["'self'", "data:", "https:"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

globals().update(ENVIRONMENT.mail_settings())

STATIC_URL = "/static/"
# The explorer of images is that of reports.
STATICFILES_DIRS = [("explorer", STATIC / "explorer")]
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 3600

DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

RATES = {
    "sign-in": "10/min",
    "sign-in-account": "30/hour",
    "sign-up": "20/hour",
    "join": "600/hour",
    "submit": "60/hour",
    "compare": "60/hour",
} | dict(rate.split("=", 1) for rate in ENVIRONMENT.rates.split(",") if rate)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "cidery_server.web.authentication.BearerAuthentication",
        "cidery_server.web.authentication.CheckedSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["cidery_server.web.roles.HasRole"],
    "DEFAULT_RENDERER_CLASSES": [
        "cidery_server.web.rendering.PageRenderer",
        "rest_framework.renderers.JSONRenderer",
    ],
    "DEFAULT_PARSER_CLASSES": [
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
        "cidery_server.web.parsers.ShallowJSONParser",
    ],
    "DEFAULT_SCHEMA_CLASS": "cidery_server.web.openapi.EndpointSchema",
    "DATETIME_FORMAT": None,  # templates format dates themselves; JSON has ISO 8601
    "DEFAULT_THROTTLE_RATES": RATES,
    "EXCEPTION_HANDLER": "cidery_server.web.pages.explain",
    "NUM_PROXIES": ENVIRONMENT.proxies,
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
REST_KNOX = {"AUTH_HEADER_PREFIX": "Bearer", "TOKEN_TTL": None, "TOKEN_PREFIX": "cidery_"}
SPECTACULAR_SETTINGS = {
    "TITLE": "cidery",
    "DESCRIPTION": "Every page of the app has a JSON endpoint with the same data.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api",
    "PREPROCESSING_HOOKS": ["cidery_server.web.openapi.keep_endpoints"],
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "StudyState": "cidery_server.studies.models.Study.State",
        "SubmissionState": "cidery_server.challenges.models.Submission.State",
    },
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "cidery": {"level": "INFO"},
        # Django's own handlers would mail administrators, or print what DEBUG shows.
        "django": {"handlers": [], "level": "WARNING", "propagate": True},
        # Refused requests are not worth a line, and their addresses may hold one-time keys.
        "django.request": {"level": "ERROR"},
    },
}
