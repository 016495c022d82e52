"""Stopping all runs of the team, and allowing them again."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_TEAM, STOP_RUNS
from apps.rest.fields import Input, Output, TextField
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.runs.models import SUSPENSION_REASON_LENGTH
from apps.runs.selectors import suspension_of
from apps.runs.services import runs_allow, runs_suspend

TAG = "Team"
EXAMPLE: dict[str, Any] = {
    "is_suspended": True,
    "scope": "team",
    "reason": "A key has leaked",
    "actor_name": "Alice",
}


class SuspensionInput(Input):
    """Why the runs are stopped."""

    reason = TextField(max_length=SUSPENSION_REASON_LENGTH)


class SuspensionOutput(Output):
    """Whether the team's runs are stopped."""

    is_suspended = serializers.BooleanField()
    scope = serializers.ChoiceField(
        choices=["team", "site"],
        allow_null=True,
        help_text="site: only the operator can allow runs again.",
    )
    reason = serializers.CharField(allow_null=True)
    actor_name = serializers.CharField(allow_null=True)


class SuspensionView(RestView):
    """The suspension of the team's runs."""

    tag = TAG
    rights = {"GET": READ_TEAM, "POST": STOP_RUNS, "DELETE": STOP_RUNS}

    @operation(
        "suspension_get",
        "Read whether runs are stopped",
        answer=SuspensionOutput,
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return whether the team's runs are stopped, by whom and why."""
        return self._answer()

    @operation(
        "runs_suspend",
        "Stop all runs",
        body=SuspensionInput,
        answer=SuspensionOutput,
        errors=(409,),
        sent={"reason": "A key has leaked"},
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Stop all runs of the team: none may start, those in progress are cancelled.

        It takes effect within two seconds in every process.
        """
        runs_suspend(
            team=self.principal.team,
            reason=self.read(SuspensionInput)["reason"],
            actor=self.principal.actor,
        )
        return self._answer()

    @operation("runs_allow", "Allow runs again", errors=(409,))
    def delete(self, request: Request) -> Response:
        """Allow runs again. Cancelled runs stay cancelled."""
        runs_allow(team=self.principal.team, actor=self.principal.actor)
        return Response(status=204)

    def _answer(self) -> Response:
        found = suspension_of(self.principal.team_id)
        told = {
            "is_suspended": found is not None,
            "scope": found.scope if found else None,
            "reason": found.reason if found else None,
            "actor_name": found.actor.display if found else None,
        }
        return Response(SuspensionOutput(told).data)
