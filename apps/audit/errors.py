"""Errors of writing to the ledger, and of reading it."""

from __future__ import annotations

from uuid import UUID

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


class EntryUnreadable(ConductorError):
    """The stored bytes of an entry are not those of an entry: somebody changed them."""

    code = "history_unreadable"
    http_status = 500

    def __init__(self, team_id: UUID, seq: int) -> None:
        super().__init__(
            f"entry {seq} of team {team_id} is not readable as an entry; audit_verify "
            "says more"
        )
