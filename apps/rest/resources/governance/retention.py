"""Retention of prompts and answers, and legal holds."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import transaction
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_HOLDS, MANAGE_TEAM, READ_RETENTION
from apps.governance.models import REASON_LENGTH
from apps.governance.selectors import (
    access_hold,
    hold_list,
    idle_count,
    retention_status,
)
from apps.governance.services import (
    hold_place,
    hold_release,
    idle_rule_set,
    retention_set,
)
from apps.governance.types import MAX_DAYS, MIN_DAYS, MIN_IDLE_DAYS
from apps.rest.fields import Flag, Id, Input, Output, Query, TextField, Time, Whole
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Retention"
EXAMPLE: dict[str, Any] = {
    "days": 365,
    "site_days": None,
    "effective_days": 365,
    "begins_at": None,
    "erased_until": "2025-11-21T15:53:16.000000Z",
    "conversation_days": 90,
    "keeps_pinned": True,
    "conversations_begin_at": None,
}
HOLD_EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000b",
    "run_id": "0199c0de-0000-7000-8000-000000000001",
    "reason": "Matter 2026-114: do not destroy",
    "placed_at": "2026-11-21T15:53:16.000000Z",
    "placed_by": "Alice",
    "released_at": None,
    "released_by": None,
}


class RetentionInput(Input):
    """The retention period, and the rule for conversations."""

    days = Whole(
        min_value=MIN_DAYS,
        max_value=MAX_DAYS,
        allow_null=True,
        help_text="Null: as the site says.",
    )
    conversation_days = Whole(
        min_value=MIN_IDLE_DAYS,
        max_value=MAX_DAYS,
        allow_null=True,
        help_text="Conversations without a turn for so long are deleted. Null: none.",
    )
    keeps_pinned = Flag(help_text="Pinned conversations are not deleted.")


class IdleQuery(Query):
    """A rule for conversations, to be tried."""

    days = serializers.IntegerField(
        min_value=MIN_IDLE_DAYS, max_value=MAX_DAYS, help_text="Days without a turn."
    )
    keeps_pinned = serializers.BooleanField(
        default=True, help_text="Pinned conversations are left out."
    )


class IdleOutput(Output):
    """What a rule for conversations would delete."""

    count = serializers.IntegerField(help_text="Conversations, now.")


class RetentionOutput(Output):
    """The retention period, and how far content is erased."""

    days = serializers.IntegerField(
        allow_null=True, help_text="The team's choice. Null: as the site says."
    )
    site_days = serializers.IntegerField(
        allow_null=True, help_text="The site's. Null: without a limit."
    )
    effective_days = serializers.IntegerField(
        allow_null=True, help_text="What applies. Null: without a limit."
    )
    begins_at = Time(
        allow_null=True,
        help_text="Nothing is erased before: the period was shortened a moment ago.",
    )
    erased_until = Time(
        allow_null=True,
        help_text="Content recorded until then is erased, except what is on hold.",
    )
    conversation_days = serializers.IntegerField(
        source="idle.days",
        allow_null=True,
        help_text="Conversations without a turn for so long are deleted. Null: none.",
    )
    keeps_pinned = serializers.BooleanField(
        source="idle.keeps_pinned", help_text="Pinned conversations are not deleted."
    )
    conversations_begin_at = Time(
        source="idle.begins_at",
        allow_null=True,
        help_text="None is deleted before: the rule became stricter a moment ago.",
    )


class HoldInput(Input):
    """What to keep, and why."""

    run_id = Id(
        required=False, allow_null=True, help_text="Null: everything of the team."
    )
    reason = TextField(max_length=REASON_LENGTH)


class HoldOutput(Output):
    """A legal hold."""

    id = serializers.UUIDField()
    run_id = serializers.UUIDField(
        allow_null=True, help_text="Null: everything of the team."
    )
    reason = serializers.CharField()
    placed_at = Time()
    placed_by = serializers.CharField()
    released_at = Time(allow_null=True, help_text="Null: it holds.")
    released_by = serializers.SerializerMethodField()

    def get_released_by(self, hold: Any) -> str | None:
        """Return the person who released it, if it was released."""
        return hold.released_by or None


class RetentionView(RestView):
    """Retention of the team's prompts and answers."""

    tag = TAG
    rights = {"GET": READ_RETENTION, "PATCH": MANAGE_TEAM}

    @operation(
        "retention_get",
        "Read the retention period",
        answer=RetentionOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return how long prompts and answers are kept, and how far they are erased."""
        return Response(RetentionOutput(retention_status(self.principal.team_id)).data)

    @operation(
        "retention_update",
        "Set the retention period",
        body=RetentionInput,
        is_partial=True,
        answer=RetentionOutput,
        sent={"days": 365},
        example=EXAMPLE,
    )
    def patch(self, request: Request) -> Response:
        """Set the retention period, or which conversations are deleted.

        What is stricter than before takes effect after a week.
        """
        values, principal = self.read(RetentionInput, is_partial=True), self.principal
        by: dict[str, Any] = {"team": principal.team, "actor": principal.actor}
        with transaction.atomic():
            if "days" in values:
                retention_set(days=values.pop("days"), **by)
            if values:
                if "conversation_days" in values:
                    values["days"] = values.pop("conversation_days")
                idle_rule_set(**values, **by)
        return Response(RetentionOutput(retention_status(principal.team_id)).data)


class IdleConversations(RestView):
    """What a rule for conversations would delete."""

    tag = TAG
    rights = {"GET": READ_RETENTION}

    @operation(
        "retention_conversations",
        "Count unused conversations",
        query=IdleQuery,
        answer=IdleOutput,
        example={"count": 12},
    )
    def get(self, request: Request) -> Response:
        """Return how many conversations a rule would delete now; it changes nothing."""
        rule = self.read_query(IdleQuery)
        return Response(
            IdleOutput({"count": idle_count(self.principal.team_id, **rule)}).data
        )


class Holds(RestView):
    """What must not be erased."""

    tag = TAG
    rights = {"GET": READ_RETENTION, "POST": MANAGE_HOLDS}

    @operation(
        "hold_list", "List legal holds", page_of=HoldOutput, example=HOLD_EXAMPLE
    )
    def get(self, request: Request) -> Response:
        """Return the legal holds, released ones too, newest first."""
        return self.listed(hold_list(self.principal.team_id), HoldOutput)

    @operation(
        "hold_place",
        "Place a legal hold",
        body=HoldInput,
        answer=HoldOutput,
        status=201,
        sent={"run_id": HOLD_EXAMPLE["run_id"], "reason": HOLD_EXAMPLE["reason"]},
        example=HOLD_EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Keep the content of a run, or of the whole team, from being erased."""
        given = self.read(HoldInput)
        hold = hold_place(
            team=self.principal.team,
            run_id=given.get("run_id"),
            reason=given["reason"],
            actor=self.principal.actor,
        )
        place = reverse("rest:hold", args=[hold.id])
        return self.created(HoldOutput(hold).data, place)


class OneHold(RestView):
    """One legal hold."""

    tag = TAG
    rights = {"GET": READ_RETENTION}

    @operation("hold_get", "Read a legal hold", answer=HoldOutput, example=HOLD_EXAMPLE)
    def get(self, request: Request, hold_id: uuid.UUID) -> Response:
        """Return a legal hold, released or not."""
        return Response(HoldOutput(access_hold(self.principal.team_id, hold_id)).data)


class HoldRelease(RestView):
    """Letting go of what a hold keeps."""

    tag = TAG
    rights = {"POST": MANAGE_HOLDS}

    @operation(
        "hold_release",
        "Release a legal hold",
        answer=HoldOutput,
        errors=(409,),
        example=HOLD_EXAMPLE,
    )
    def post(self, request: Request, hold_id: uuid.UUID) -> Response:
        """Release a hold: what it kept is erased when, or as, its time is over."""
        hold = hold_release(
            hold=access_hold(self.principal.team_id, hold_id),
            actor=self.principal.actor,
        )
        return Response(HoldOutput(hold).data)
