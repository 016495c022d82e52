"""The team that is meant: its name, its rates, its end."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import MAX_REQUESTS_PER_MINUTE, MAX_TOKENS_PER_MINUTE
from apps.accounts.rights import MANAGE_TEAM, READ_TEAM, SET_RATES
from apps.accounts.services import team_delete, team_update
from apps.rest.fields import Input, Output, Query, TextField, Time, Whole
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Team"
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-000000000003",
    "slug": "orchestra",
    "name": "Orchestra",
    "requests_per_minute": 600,
    "tokens_per_minute": None,
    "created_at": "2026-11-21T15:53:16.000000Z",
}


class TeamInput(Input):
    """What can be changed about a team."""

    name = TextField(max_length=100)
    requests_per_minute = Whole(
        min_value=1,
        max_value=MAX_REQUESTS_PER_MINUTE,
        allow_null=True,
        help_text="Of all keys together. Null: no limit.",
    )
    tokens_per_minute = Whole(
        min_value=1,
        max_value=MAX_TOKENS_PER_MINUTE,
        allow_null=True,
        help_text="Of all keys together. Null: no limit.",
    )


class TeamDeleteQuery(Query):
    """Proof that the right team is meant."""

    confirmation = serializers.CharField(
        max_length=100, help_text="The slug of the team."
    )


class TeamOutput(Output):
    """A team."""

    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    requests_per_minute = serializers.IntegerField(allow_null=True)
    tokens_per_minute = serializers.IntegerField(allow_null=True)
    created_at = Time()


class OneTeam(RestView):
    """The team."""

    tag = TAG
    rights = {"GET": READ_TEAM, "PATCH": SET_RATES, "DELETE": MANAGE_TEAM}

    @operation("team_get", "Read the team", answer=TeamOutput, example=EXAMPLE)
    def get(self, request: Request) -> Response:
        """Return the team the request is for."""
        return Response(TeamOutput(self.principal.team).data)

    @operation(
        "team_update",
        "Change the team",
        body=TeamInput,
        is_partial=True,
        answer=TeamOutput,
        sent={"requests_per_minute": 600},
        example=EXAMPLE,
    )
    def patch(self, request: Request) -> Response:
        """Change the rates or, for owners, the name. A key can only lower the rates."""
        values = self.read(TeamInput, is_partial=True)
        if "name" in values:
            self.principal.require(MANAGE_TEAM)
        changed = team_update(
            team=self.principal.team,
            actor=self.principal.actor,
            within=self.principal.key,
            **values,
        )
        return Response(TeamOutput(changed).data)

    @operation("team_delete", "Delete the team", query=TeamDeleteQuery)
    def delete(self, request: Request) -> Response:
        """Delete the team and everything it owns, for good."""
        asked = self.read_query(TeamDeleteQuery)
        team_delete(
            team=self.principal.team,
            confirmation=asked["confirmation"],
            actor=self.principal.actor,
        )
        return Response(status=204)
