"""Errors of share links."""

from __future__ import annotations

from apps.core.errors import ConductorError


class TooManyLookups(ConductorError):
    """An address has opened too many share links within a minute."""

    code = "too_many_requests"
    http_status = 429
