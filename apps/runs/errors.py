"""Errors of the runs app."""

from apps.core.errors import ConductorError, Overloaded


class IdempotencyConflict(ConductorError):
    """The key has been used with another body within its lifetime."""

    code = "idempotency_conflict"
    http_status = 422


class TeamRunsExceeded(ConductorError):
    """The process is almost full and the team has its share of live runs."""

    code = "too_many_live_runs"
    http_status = 429


class HistoryUnreadable(ConductorError):
    """Entries of the run are missing from the ledger, so the rest makes no sense."""

    code = "history_unreadable"
    http_status = 500


class IdempotencyKeyLost(Overloaded):
    """The key stands for another run by now, so this one never gets on record."""


class RunsSuspended(ConductorError):
    """All runs of the team, or of the site, are stopped until a person allows them."""

    code = "runs_suspended"
    http_status = 403
