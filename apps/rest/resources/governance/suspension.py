"""Stopping all runs of the team or of the site, and allowing them again."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_TEAM, STOP_RUNS
from apps.rest.fields import Input, Output, TextField
from apps.rest.schema import operation
from apps.rest.views import OperatorView, RestView
from apps.runs.models import SUSPENSION_REASON_LENGTH
from apps.runs.selectors import suspension_of, suspension_of_site
from apps.runs.services import runs_allow, runs_suspend
from apps.runs.types import SuspensionInForce

TAG = "Team"
SITE_TAG = "Site"
EXAMPLE: dict[str, Any] = {
    "is_suspended": True,
    "scope": "team",
    "reason": "A key has leaked",
    "actor_name": "Alice",
}
SITE_EXAMPLE: dict[str, Any] = {
    "is_suspended": True,
    "scope": "site",
    "reason": "A provider is leaking prompts",
    "actor_name": "Olga",
}


class SuspensionInput(Input):
    """Why the runs are stopped."""

    reason = TextField(max_length=SUSPENSION_REASON_LENGTH)


class SuspensionOutput(Output):
    """Whether runs are stopped."""

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
        return _answer(suspension_of(self.principal.team_id))

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
        return _answer(suspension_of(self.principal.team_id))

    @operation("runs_allow", "Allow runs again", errors=(409,))
    def delete(self, request: Request) -> Response:
        """Allow runs again. Cancelled runs stay cancelled."""
        runs_allow(team=self.principal.team, actor=self.principal.actor)
        return Response(status=204)


class SiteSuspensionView(OperatorView):
    """The suspension of the runs of all teams."""

    tag = SITE_TAG

    @operation(
        "site_suspension_get",
        "Read whether the site is stopped",
        answer=SuspensionOutput,
        example=SITE_EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return whether the runs of all teams are stopped, by whom and why."""
        return _answer(suspension_of_site())

    @operation(
        "site_suspend",
        "Stop all runs of the site",
        body=SuspensionInput,
        answer=SuspensionOutput,
        errors=(409,),
        sent={"reason": "A provider is leaking prompts"},
        example=SITE_EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Stop the runs of all teams: none may start, those in progress are cancelled.

        It takes effect within two seconds in every process, and is recorded in the
        ledger of each team.
        """
        reason = self.read(SuspensionInput)["reason"]
        runs_suspend(team=None, reason=reason, actor=self.operator)
        return _answer(suspension_of_site())

    @operation("site_allow", "Allow runs of the site again", errors=(409,))
    def delete(self, request: Request) -> Response:
        """Allow runs again, but not those of teams that are stopped themselves."""
        runs_allow(team=None, actor=self.operator)
        return Response(status=204)


def _answer(found: SuspensionInForce | None) -> Response:
    values = {
        "is_suspended": found is not None,
        "scope": found.scope if found else None,
        "reason": found.reason if found else None,
        "actor_name": found.actor.display if found else None,
    }
    return Response(SuspensionOutput(values).data)
