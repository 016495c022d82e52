"""The team's ledger: its entries by what they are about, and how its chain is doing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import CHECK_LEDGER, READ_LEDGER
from apps.audit.browsing.chain_status import ChainStatus, chain_status
from apps.audit.browsing.full_checks import full_check_request
from apps.audit.browsing.search import EntryFilter, entries_find
from apps.core.data_classes import DATA_CLASSES
from apps.core.errors import Conflict
from apps.rest.fields import Output, Time
from apps.rest.pagination import PageQuery, page_before, seq_before
from apps.rest.resources.run_records import EntryActorOutput
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Ledger"
OUTCOMES = ("success", "failure", "denied", "cancelled")
ENTRY: dict[str, Any] = {
    "seq": 4711,
    "id": "0199c0de-0000-7000-8000-000000000011",
    "action": "member.changed",
    "outcome": "success",
    "subject_type": "user",
    "subject_id": "0199c0de-0000-7000-8000-000000000002",
    "recorded_at": "2026-11-21T15:53:16.000000Z",
    "actor": {
        "type": "user",
        "id": "0199c0de-0000-7000-8000-000000000003",
        "display": "Alice",
        "on_behalf_of": "",
    },
    "context": {},
    "data": {"before": {"role": "member"}, "after": {"role": "admin"}},
    "bodies": {},
    "hash": "sha256:" + "0" * 64,
}
STATUS: dict[str, Any] = {
    "entries": 4712,
    "newest_at": "2026-11-21T15:53:16.000000Z",
    "checkpoint": {
        "seq": 4711,
        "signed_at": "2026-11-21T15:53:20.000000Z",
        "copied_at": "2026-11-21T15:53:20.000000Z",
        "lag": 1,
    },
    "check": {"state": "idle", "percent": 0},
    "last_check": {
        "finished_at": "2026-11-21T04:00:00.000000Z",
        "took_ms": 812,
        "requested_by": "",
        "entries": 4700,
        "bodies": 2210,
        "erased": 0,
        "checkpoints": 12,
        "fault_count": 0,
        "faults": [],
        "error": "",
    },
}


# --- what comes in -------------------------------------------------------------------


class EntryFilterFields(serializers.Serializer[Any]):
    """Which entries: those to which all of this applies."""

    action = serializers.CharField(
        required=False,
        max_length=64,
        help_text="One action, or a group: `api_key.*`.",
    )
    actor = serializers.CharField(
        required=False,
        max_length=200,
        help_text="The id of a person, key or service, or a part of its name.",
    )
    subject_id = serializers.UUIDField(
        required=False, help_text="Of the thing that the entries are about."
    )
    outcome = serializers.ChoiceField(choices=OUTCOMES, required=False)
    data_class = serializers.ChoiceField(
        choices=DATA_CLASSES,
        required=False,
        help_text="Of the prompt: this class or a higher one, where an entry has one.",
    )
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)
    query = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Words in facts, names and ids, whatever their case; not in texts "
        "that are kept apart.",
    )
    only = serializers.ChoiceField(
        choices=("rare",),
        required=False,
        help_text="rare: no entries that every run writes.",
    )


class LedgerQuery(EntryFilterFields, PageQuery):
    """Which entries, and which page of them."""


def wanted_of(asked: Mapping[str, Any]) -> EntryFilter:
    """Return the filter that `EntryFilterFields` describe."""
    return EntryFilter(
        action=asked.get("action", ""),
        actor=asked.get("actor", ""),
        subject_id=asked.get("subject_id"),
        outcome=asked.get("outcome", ""),
        data_class=asked.get("data_class"),
        since=asked.get("since"),
        until=asked.get("until"),
        text=asked.get("query", ""),
        is_rare="only" in asked,
    )


# --- what goes out -------------------------------------------------------------------


class LedgerEntryOutput(Output):
    """An entry of the team's ledger, without the texts that are kept apart."""

    seq = serializers.IntegerField(help_text="Its place in the team's chain.")
    id = serializers.CharField(
        help_text="Empty: the stored bytes are not an entry; verify the ledger."
    )
    action = serializers.CharField()
    outcome = serializers.CharField()
    subject_type = serializers.CharField()
    subject_id = serializers.UUIDField(allow_null=True)
    recorded_at = Time(allow_null=True)
    actor = EntryActorOutput()
    context = serializers.DictField(  # type: ignore[assignment]
        child=serializers.CharField()
    )
    data = serializers.DictField()  # type: ignore[assignment]
    bodies = serializers.DictField(
        source="text_sizes",
        child=serializers.IntegerField(),
        help_text="Bytes of each text that is kept apart, by name.",
    )
    hash = serializers.CharField()


class CheckpointOutput(Output):
    """The newest signed statement of where the chain ended."""

    seq = serializers.IntegerField()
    signed_at = Time(allow_null=True)
    copied_at = Time(allow_null=True, help_text="Null: not out of the database yet.")
    lag = serializers.IntegerField(help_text="Entries that came later.")


class CheckOutput(Output):
    """The verification in progress."""

    state = serializers.ChoiceField(
        choices=("idle", "waiting", "running", "lost"),
        help_text="lost: its process died, and another begins again.",
    )
    percent = serializers.IntegerField()


class FaultOutput(Output):
    """A place where the chain does not hold."""

    seq = serializers.IntegerField()
    kind = serializers.CharField()
    detail = serializers.CharField()


class LastCheckOutput(Output):
    """The last verification of the whole chain."""

    finished_at = Time()
    took_ms = serializers.IntegerField()
    requested_by = serializers.CharField(help_text="Empty: it was due.")
    entries = serializers.IntegerField(help_text="That are sound.")
    bodies = serializers.IntegerField()
    erased = serializers.IntegerField()
    checkpoints = serializers.IntegerField()
    fault_count = serializers.IntegerField()
    faults = FaultOutput(many=True, help_text="The first of them.")
    error = serializers.CharField(help_text="Why there is no result. Empty: there is.")


class LedgerStatusOutput(Output):
    """How the team's chain is doing."""

    entries = serializers.IntegerField()
    newest_at = Time(allow_null=True)
    checkpoint = CheckpointOutput(allow_null=True)
    check = CheckOutput()
    last_check = LastCheckOutput(allow_null=True)


# --- operations ----------------------------------------------------------------------


class Ledger(RestView):
    """The entries of the team."""

    tag = TAG
    rights = {"GET": READ_LEDGER}

    @operation(
        "ledger_list",
        "List entries of the ledger",
        page_of=LedgerEntryOutput,
        query=LedgerQuery,
        example=ENTRY,
    )
    def get(self, request: Request) -> Response:
        """Return entries, newest first, to which all of the filters apply.

        What no index leads to is looked for in a limited number of entries: a page may
        be short or empty and have a `next_cursor` all the same.
        """
        asked = self.read_page(LedgerQuery)
        found = entries_find(
            self.principal.team_id,
            wanted_of(asked),
            limit=asked["limit"],
            before=seq_before(asked["cursor"]),
        )
        return self.paged(page_before(found.entries, found.older), LedgerEntryOutput)


class LedgerStatus(RestView):
    """The state of the team's chain."""

    tag = TAG
    rights = {"GET": READ_LEDGER, "POST": CHECK_LEDGER}

    @operation(
        "ledger_status",
        "Read how the chain is doing",
        answer=LedgerStatusOutput,
        example=STATUS,
    )
    def get(self, request: Request) -> Response:
        """Return the chain's length, its checkpoint and its last verification."""
        return self._answer(200)

    @operation(
        "ledger_check",
        "Verify the whole chain",
        answer=LedgerStatusOutput,
        status=202,
        errors=(409,),
        example=STATUS,
    )
    def post(self, request: Request) -> Response:
        """Have the chain verified in the background; the result is recorded.

        409: that is in progress already.
        """
        principal = self.principal
        if not full_check_request(team_id=principal.team_id, actor=principal.actor):
            raise Conflict("the ledger is being verified already")
        return self._answer(202)

    def _answer(self, status: int) -> Response:
        told = _told(chain_status(self.principal.team_id))
        return Response(LedgerStatusOutput(told).data, status=status)


def _told(status: ChainStatus) -> dict[str, Any]:
    checkpoint = {
        "seq": status.checkpoint_seq,
        "signed_at": status.checkpoint_at,
        "copied_at": status.copied_at,
        "lag": status.lag,
    }
    return {
        "entries": status.entries,
        "newest_at": status.newest_at,
        "checkpoint": None if status.checkpoint_seq is None else checkpoint,
        "check": status.check,
        "last_check": status.check if status.check.finished_at else None,
    }
