"""Checks of the configuration against the services it names. They change nothing.

Each fault is one sentence that begins with the variable to set. Errors keep a process
from starting; warnings do not. No message holds a password: services are
named by host alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http.request import validate_host

from apps.audit.selectors import texts_sample
from apps.core.errors import SecretUnreadable
from apps.core.keyring import require_key_of
from apps.llm.errors import LlmError
from apps.llm.http import Get, HttpTransport, open_transport
from apps.llm.types import Timeouts
from apps.pools.selectors import conductor_urls, credentials_try
from apps.runs.telemetry.tracing import check_packages
from conductor_site.bootstrap import STARTUP
from conductor_site.pending_migrations import own_migrations, pending_migrations

DATABASE_TIME_S = 5
REDIS_TIME_S = 3.0
CONDUCTOR_TIMES = Timeouts(connect_s=2, first_byte_s=2, idle_s=2, total_s=3)
"""A start waits no longer than this for conductors, however many there are."""
MAX_CONDUCTORS = 20
"""Addresses that are tried at most."""
CONSOLE = "django.core.mail.backends.console.EmailBackend"

Messages = list[CheckMessage]


@register(STARTUP, deploy=True)
def check_modes(**_: Any) -> Messages:
    """Say which settings do not go together."""
    is_sqlite = _database().vendor == "sqlite"
    found: Messages = []
    if settings.BACKGROUND_RUNS == "workers" and is_sqlite:
        found.append(
            Error(
                "DATABASE_URL: worker processes need PostgreSQL, and this is SQLite; "
                "set it, or BACKGROUND_RUNS=here",
                id="conductor.E001",
            )
        )
    if not settings.REDIS_URL and not is_sqlite:
        found.append(
            Warning(
                "REDIS_URL: not set, so start one web process only: with several, "
                "pages do not hear of each other's runs and rates are counted apart",
                id="conductor.W001",
            )
        )
    return found


@register(STARTUP, deploy=True)
def check_production(**_: Any) -> Messages:
    """Check what a public site needs."""
    if not settings.IS_PRODUCTION:
        return []
    found: Messages = []
    host = urlsplit(settings.CONDUCTOR_URL).hostname or ""
    if not settings.CONDUCTOR_URL.startswith("https://"):
        found.append(
            Warning(
                f"CONDUCTOR_URL: {settings.CONDUCTOR_URL!r} is no https address; "
                "links in mails and answers lead there",
                id="conductor.W002",
            )
        )
    elif not validate_host(host, settings.ALLOWED_HOSTS):
        found.append(
            Warning(
                f"ALLOWED_HOSTS: lacks {host!r}, the host of CONDUCTOR_URL, so the "
                "site refuses whoever follows its links",
                id="conductor.W003",
            )
        )
    if settings.EMAIL_BACKEND == CONSOLE:
        found.append(
            Warning(
                "EMAIL_BACKEND: mails are printed instead of sent, invitations and "
                "confirmations among them",
                id="conductor.W004",
            )
        )
    if not (settings.STATIC_ROOT / "css").is_dir():
        found.append(
            Warning(
                "CONDUCTOR_VAR_DIR: holds no collected static files, the admin will "
                "have no style; run: python manage.py collectstatic",
                id="conductor.W005",
            )
        )
    return found


@register(STARTUP, deploy=True)
def check_database(**_: Any) -> Messages:
    """Connect, compare the migrations, and try the keys on what is stored."""
    database = _database()
    try:
        database.ensure_connection()
        return _migration_faults(database) or [*_key_faults(), *_conductor_faults()]
    except DatabaseError as exc:
        where = database.settings_dict["HOST"] or database.settings_dict["NAME"]
        return [
            Error(
                f"DATABASE_URL: the {database.display_name} database at {where} "
                f"cannot be used: {_first_line(exc)}",
                id="conductor.E002",
            )
        ]
    finally:
        database.close()
        _end_pool()


@register(STARTUP, deploy=True)
def check_redis(**_: Any) -> Messages:
    """Ask Redis for a sign of life, if one is configured."""
    if not settings.REDIS_URL:
        return []
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL,
            socket_connect_timeout=REDIS_TIME_S,
            socket_timeout=REDIS_TIME_S,
        ) as client:
            client.ping()
    except (redis.RedisError, ValueError) as exc:
        where = urlsplit(settings.REDIS_URL).hostname
        return [
            Error(
                f"REDIS_URL: Redis at {where} does not answer: {_first_line(exc)}",
                id="conductor.E003",
            )
        ]
    return []


@register(STARTUP, deploy=True)
def check_traces(**_: Any) -> Messages:
    """Look for the packages that traces need, if they are wanted."""
    try:
        check_packages()
    except ImproperlyConfigured as exc:
        return [Error(str(exc), id="conductor.E006")]
    return []


def _database() -> BaseDatabaseWrapper:
    """Return the database with a short patience and without a pool's threads.

    The ledger's writer is forked after these checks, and forks take no threads along.
    """
    present = connections[DEFAULT_DB_ALIAS]
    values = deepcopy(present.settings_dict)
    if present.vendor == "postgresql":
        values["OPTIONS"].pop("pool", None)
        values["OPTIONS"].setdefault("connect_timeout", DATABASE_TIME_S)
    return type(present)(values, DEFAULT_DB_ALIAS)


def _end_pool() -> None:
    """Close what reading rows has opened in this thread."""
    present = connections[DEFAULT_DB_ALIAS]
    present.close()
    if present.vendor == "postgresql":
        present.close_pool()  # type: ignore[attr-defined]  # the backend's own


def _migration_faults(database: BaseDatabaseWrapper) -> Messages:
    pending = pending_migrations(database)
    if not pending:
        return []
    first = ".".join(pending[0])
    lack = f"lacks {len(pending)} migrations, {first} among them"
    if len(pending) == len(own_migrations()):
        lack = "is empty"
    return [
        Error(
            f"DATABASE_URL: the database {lack}; run: python manage.py migrate",
            id="conductor.E004",
        )
    ]


def _key_faults() -> Messages:
    """Try the encryption keys on stored content and on every provider's key."""
    try:
        for sealed in texts_sample():
            require_key_of(sealed)
        credentials_try()
    except SecretUnreadable as exc:
        return [
            Error(
                f"CONDUCTOR_ENCRYPTION_KEYS: what is stored cannot be read: {exc}",
                id="conductor.E005",
            )
        ]
    return []


def _conductor_faults() -> Messages:
    """Warn of conductors whose server does not answer."""
    urls = conductor_urls(MAX_CONDUCTORS)
    return [
        Warning(
            f"conductor at {urlsplit(url).netloc}: {why}; plans fall back to one "
            "worker. Start it, correct its address, or allow it in MODEL_NETWORKS",
            id="conductor.W006",
        )
        for url, why in zip(urls, asyncio.run(_try_all(urls)), strict=True)
        if why
    ]


async def _try_all(urls: Iterable[str]) -> Sequence[str]:
    async with open_transport(
        allowed_networks=settings.MODEL_NETWORKS, allowed_ports=settings.MODEL_PORTS
    ) as transport:
        return await asyncio.gather(*(_try(transport, url) for url in urls))


async def _try(transport: HttpTransport, url: str) -> str:
    """Return why a server does not answer; any answer counts, even a refusal."""
    get = Get("conductor", f"{url}/models", (), CONDUCTOR_TIMES)
    try:
        async with await transport.get(get):
            return ""
    except LlmError as exc:
        return _first_line(exc)


def _first_line(exc: Exception) -> str:
    return (str(exc).strip().splitlines() or [type(exc).__name__])[0]
