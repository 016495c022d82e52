"""The site's settings as they are in force, for the operator to look at.

Only what is named here is shown. Of a secret it is said whether there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

SHOWN: dict[str, tuple[str, ...]] = {
    "Mode": (
        "IS_PRODUCTION",
        "DEBUG",
        "ALLOWED_HOSTS",
        "CSRF_TRUSTED_ORIGINS",
        "CORS_ORIGINS",
        "CONDUCTOR_URL",
        "SECURE_SSL_REDIRECT",
    ),
    "People": (
        "SIGN_UP",
        "EMAIL_VERIFICATION",
        "REQUIRE_MFA",
        "OIDC_ISSUER",
        "OIDC_CLIENT_ID",
        "OIDC_NAME",
        "OIDC_TRUST_EMAIL",
    ),
    "Mail": (
        "EMAIL_BACKEND",
        "DEFAULT_FROM_EMAIL",
        "EMAIL_HOST",
        "EMAIL_PORT",
        "EMAIL_HOST_USER",
        "EMAIL_USE_TLS",
    ),
    "Sizes": (
        "MAX_PROMPT_BYTES",
        "MAX_TOOLS",
        "MAX_TOOLS_BYTES",
        "MAX_SCHEMA_BYTES",
        "MAX_REQUEST_BYTES",
        "MAX_IMAGES",
        "MAX_IMAGE_BYTES",
        "MAX_ATTACHMENT_BYTES",
        "MAX_ATTACHMENTS",
        "TEAM_ATTACHMENT_BYTES",
        "MAX_ANSWER_CHARACTERS",
        "MAX_LIVE_RUNS",
        "SANDBOX_PARALLEL",
        "SANDBOX_PYTHON",
    ),
    "Calls to models": (
        "STEP_TIME_S",
        "MODEL_NETWORKS",
        "MODEL_PORTS",
        "WORKER_CONNECT_TIMEOUT_S",
        "WORKER_FIRST_BYTE_TIMEOUT_S",
        "WORKER_FIRST_TOKEN_TIMEOUT_S",
        "WORKER_IDLE_TIMEOUT_S",
        "WORKER_TOTAL_TIMEOUT_S",
    ),
}
SECRETS = (
    "SECRET_KEY",
    "SECRET_KEY_FALLBACKS",
    "OIDC_CLIENT_SECRET",
    "EMAIL_HOST_PASSWORD",
)


@dataclass(frozen=True)
class Shown:
    """One setting, in words."""

    name: str
    value: str


def site_settings(request: HttpRequest) -> HttpResponse:
    """Show the settings by topic."""
    groups = {
        topic: [Shown(name, in_words(getattr(settings, name))) for name in names]
        for topic, names in SHOWN.items()
    }
    context = {
        "tab": "site_settings",
        "title": "Settings of the site",
        "groups": {
            **groups,
            "List prices": _list_prices(),
            "Storage": _storage(),
            "Secrets": _secrets(),
        },
    }
    return render(request, "site/settings.html", context)


def in_words(value: Any) -> str:
    """Return a setting's value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value) or "none"


def _list_prices() -> list[Shown]:
    host = urlsplit(settings.PRICE_LIST_URL).hostname
    return [Shown("PRICE_LIST_URL", host or "none: the list of this version")]


def _storage() -> list[Shown]:
    database = settings.DATABASES["default"]
    place = database["HOST"] or "this machine"
    engine = database["ENGINE"].rpartition(".")[2]
    redis = urlsplit(settings.REDIS_URL).hostname if settings.REDIS_URL else None
    return [
        Shown("Database", f"{engine}, {database['NAME']} on {place}"),
        Shown("REDIS_URL", redis or "none: in memory"),
    ]


def _secrets() -> list[Shown]:
    keys = [spec.partition(":")[0] for spec in settings.ENCRYPTION_KEYS]
    return [
        *(Shown(name, _is_set(getattr(settings, name))) for name in SECRETS),
        Shown("CONDUCTOR_ENCRYPTION_KEYS", f"set: {', '.join(keys)}"),
    ]


def _is_set(value: Any) -> str:
    if value == settings.DEVELOPMENT_SECRET:
        return "the known one, for development"
    return "set" if value else "not set"
