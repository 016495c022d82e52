"""Errors of the runs app."""

from apps.core.errors import ConductorError


class IdempotencyConflict(ConductorError):
    """The key has been used with another body within its lifetime."""

    code = "idempotency_conflict"
    http_status = 422
