"""Errors of authentication."""

from __future__ import annotations

from apps.core.errors import ConductorError, NotAuthenticated


class UnknownKey(NotAuthenticated):
    """The key that was sent is unknown to this site."""


class TooManyGuesses(ConductorError):
    """An address has sent too many keys that are unknown to this site."""

    code = "too_many_unknown_keys"
    http_status = 429
