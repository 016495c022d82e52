"""Keeps the site's list of providers' prices fresh: from PRICE_LIST_URL, once a day.

Guarantees: a list is read as a whole before it replaces the former one; whatever goes
wrong leaves that one in use and is one line in the log, without any of the content. Two
processes may do it at once: they store the same. No price of a team changes by it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import zlib
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.llm.errors import BadResponse, LlmError, Redirected
from apps.llm.http import Get, HeaderPairs, HttpReply, open_transport
from apps.llm.http_common import USER_AGENT
from apps.llm.types import Timeouts
from apps.pools.errors import PriceListInvalid
from apps.pools.models import PriceList
from apps.pools.prices.catalog import book_read
from apps.pools.prices.catalog_cache import price_book_forget
from apps.pools.types import PriceListRefresh, RefreshOutcome

FRESH = timedelta(days=1)
"""A list that was looked at so lately is not asked for again."""
MAX_BYTES = 8_000_000
"""The public list has about a million and a half."""
MAX_ETAG = 200
TIMES = Timeouts(connect_s=5, first_byte_s=15, idle_s=15, total_s=60)
NAME = "price list"
"""What errors call it; its address may hold a secret."""
NOT_MODIFIED = 304
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A list as it came."""

    document: bytes
    etag: str


def price_list_refresh(*, is_forced: bool = False) -> PriceListRefresh:
    """Fetch the price list if the last look is a day old, or at once if forced.

    Blocks for a minute at most. Call it from a thread without a running event loop.
    Whatever goes wrong outside of the database is in the result.
    """
    if not settings.PRICE_LIST_URL:
        return PriceListRefresh(RefreshOutcome.NOT_SET)
    source = _digest(settings.PRICE_LIST_URL.encode())
    row = PriceList.objects.filter(source=source).defer("document").first()
    if row is not None and not is_forced and timezone.now() - row.checked_at < FRESH:
        return PriceListRefresh(RefreshOutcome.RECENT)
    if not connection.in_atomic_block:
        connection.close()  # a slow server must not hold one of the few
    try:
        fetched = asyncio.run(_fetch("" if row is None else row.etag))
        if fetched is None:
            return _keep()
        return _store(fetched, source)
    except (LlmError, PriceListInvalid) as exc:
        logger.warning("PRICE_LIST_URL: the former list stays in use: %s", exc.message)
        return PriceListRefresh(RefreshOutcome.FAILED, why=exc.message)


async def _fetch(etag: str) -> _Fetched | None:
    """Return the list at PRICE_LIST_URL; None: it is still the one with `etag`."""
    headers: HeaderPairs = (
        ("accept", "application/json"),
        ("accept-encoding", "identity"),
        ("user-agent", USER_AGENT),
    )
    if etag:
        headers += (("if-none-match", etag),)
    get = Get(NAME, settings.PRICE_LIST_URL, headers, TIMES)
    async with (
        open_transport(
            allowed_networks=settings.MODEL_NETWORKS, allowed_ports=settings.MODEL_PORTS
        ) as transport,
        await transport.get(get) as reply,
    ):
        if etag and reply.status == NOT_MODIFIED:
            return None
        _expect_list(reply)
        return _Fetched(await reply.read_body(MAX_BYTES), _etag_of(reply))


def _expect_list(reply: HttpReply) -> None:
    """Raise LlmError unless a body is about to come that could be a list."""
    if 300 <= reply.status < 400:
        raise Redirected(f"{NAME!r}: answered {reply.status}, which is not followed")
    if reply.status != 200:
        raise BadResponse(f"{NAME!r}: answered {reply.status}")
    if reply.headers.get("content-encoding", "identity") != "identity":
        raise BadResponse(f"{NAME!r}: compressed, which was not asked for")


def _etag_of(reply: HttpReply) -> str:
    etag = reply.headers.get("etag", "")
    fits = len(etag) <= MAX_ETAG and etag.isascii() and etag.isprintable()
    return etag if fits else ""


def _keep() -> PriceListRefresh:
    PriceList.objects.update(checked_at=timezone.now())
    return PriceListRefresh(RefreshOutcome.UNCHANGED)


def _store(fetched: _Fetched, source: str) -> PriceListRefresh:
    now = timezone.now()
    book = book_read(fetched.document, now.date())
    digest = _digest(fetched.document)
    looked_at = {"source": source, "etag": fetched.etag, "checked_at": now}
    if PriceList.objects.filter(digest=digest).update(**looked_at):
        return PriceListRefresh(RefreshOutcome.UNCHANGED, models=book.count())
    PriceList.objects.update_or_create(
        id=PriceList.ONLY,
        defaults={
            **looked_at,
            "document": zlib.compress(fetched.document),
            "digest": digest,
            "fetched_at": now,
        },
    )
    price_book_forget()
    return PriceListRefresh(RefreshOutcome.REPLACED, models=book.count())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
