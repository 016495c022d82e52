"""Watches a browser for everything a page of ours must never do.

Errors on the console (violations of the content security policy are among them),
uncaught errors, and requests to any other origin. That no such request gets through is
the browser's part: whatever is not of this machine goes to a proxy that is not there.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Request, WebError

OPAQUE = frozenset({"data", "blob", "about"})
BAD_LEVELS = frozenset({"error", "warning", "assert"})


class Guard:
    """Collects the faults of one context; `expect` names those a test provokes."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._host = urlsplit(origin).netloc
        self._expected: list[re.Pattern[str]] = []
        self._faults: list[str] = []

    def watch(self, context: BrowserContext) -> None:
        """Watch all pages of a context, those to come included."""
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("request", self._request)

    def forget(self) -> None:
        """Begin anew: another test has the context."""
        self._expected.clear()
        self._faults.clear()

    def expect(self, pattern: str) -> None:
        """Say that a fault which matches belongs to the test."""
        self._expected.append(re.compile(pattern))

    @property
    def faults(self) -> list[str]:
        """Return what was seen and not expected."""
        return [f for f in self._faults if not any(e.search(f) for e in self._expected)]

    def _is_foreign(self, url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme not in OPAQUE and parts.netloc != self._host

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in BAD_LEVELS:
            place = message.location.get("url", "")
            self._faults.append(f"console {message.type}: {message.text} ({place})")

    def _error(self, error: WebError) -> None:
        self._faults.append(f"uncaught: {error.error}")

    def _request(self, request: Request) -> None:
        if self._is_foreign(request.url):
            self._faults.append(f"request to another origin: {request.url}")
