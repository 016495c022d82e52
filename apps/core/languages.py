"""The language of what is not made for the reader of a page."""

from __future__ import annotations

from contextlib import AbstractContextManager

from django.utils import translation

ENGLISH = "en"
"""Of APIs, mails, the ledger and exports, whoever causes them."""


def in_english() -> AbstractContextManager[None]:
    """Return a context in which texts are not translated."""
    return translation.override(ENGLISH)
