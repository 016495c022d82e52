"""Errors of writing to the ledger."""

from __future__ import annotations

from apps.core.errors import ConductorError, InvalidInput, Overloaded


class NotCanonical(InvalidInput):
    """A value has no canonical form: a float, a foreign type, a non-ASCII key."""


class StaleWrite(ConductorError):
    """A row that had to change was not there any more in the expected state."""

    code = "stale_write"
    http_status = 409


class LedgerUnavailable(Overloaded):
    """The database does not take entries at the moment.

    Nothing was stored, unless the connection broke in the very commit and the database
    stayed away too long to ask it.
    """

    code = "ledger_unavailable"
