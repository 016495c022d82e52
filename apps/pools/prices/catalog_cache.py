"""The price list that this process looks prices up in.

It is the one the site stored last; without PRICE_LIST_URL, or as long as none has been
stored, the one that came with this version. Guarantees: a newer one is noticed within
`NOTICE_S`; look-ups in between ask no database; a stored list that this version cannot
read is said once, and does no harm.
"""

from __future__ import annotations

import logging
import threading
import time
import zlib

from django.conf import settings

from apps.pools.errors import PriceListInvalid
from apps.pools.models import PriceList
from apps.pools.prices.catalog import PriceBook, book_read, bundled_book

NOTICE_S = 60.0
"""How long a list that another process has fetched may stay unnoticed here."""
BUNDLED = ""
"""Stands for the digest of the list that came with this version."""
logger = logging.getLogger(__name__)


class _Cache:
    """Holds the list in use. For any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looked_at = 0.0
        self._digest = BUNDLED
        self._book: PriceBook | None = None

    def book(self) -> PriceBook:
        """Return the list in use, after a look at what is stored if one is due."""
        with self._lock:
            if self._book is None or time.monotonic() - self._looked_at >= NOTICE_S:
                self._book = self._look()
                self._looked_at = time.monotonic()
            return self._book

    def forget(self) -> None:
        """Look again at the next look-up."""
        with self._lock:
            self._book = None

    def _look(self) -> PriceBook:
        digest = _stored_digest()
        if self._book is not None and digest == self._digest:
            return self._book
        self._digest = digest
        return bundled_book() if digest == BUNDLED else _stored_book()


def _stored_digest() -> str:
    if not settings.PRICE_LIST_URL:
        return BUNDLED
    return PriceList.objects.values_list("digest", flat=True).first() or BUNDLED


def _stored_book() -> PriceBook:
    row = PriceList.objects.get()
    try:
        return book_read(zlib.decompress(row.document), row.fetched_at.date())
    except PriceListInvalid as exc:  # another version of the site stored it
        logger.warning(
            "PRICE_LIST_URL: the stored list is %s; prices are those of this version",
            exc.message,
        )
        return bundled_book()


_shelf = _Cache()


def price_book() -> PriceBook:
    """Return the list to look prices up in."""
    return _shelf.book()


def price_book_forget() -> None:
    """Take note at the next look-up of what is stored."""
    _shelf.forget()
