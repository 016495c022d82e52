"""Budgets: what a team, a member or a key may spend, and what is left."""

from __future__ import annotations

import uuid
from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import MANAGE_BUDGETS, READ_BUDGETS
from apps.budgets.models import Budget, BudgetKind, Period
from apps.budgets.selectors import access_budget, budget_list, budget_status
from apps.budgets.services import budget_create, budget_delete, budget_update
from apps.rest.fields import Dollars, DollarsOut, Id, Input, Output, Time, Word
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Budgets"
EXAMPLE: dict[str, Any] = {
    "id": "0199c0de-0000-7000-8000-00000000000a",
    "kind": "key",
    "user_id": None,
    "api_key_id": "0199c0de-0000-7000-8000-000000000002",
    "target": "Build server",
    "period": "month",
    "limit_usd": "25.00",
    "spent_usd": "3.1204",
    "reserved_usd": "0.05",
    "left_usd": "21.8296",
    "resets_at": "2026-12-01T00:00:00Z",
    "created_at": "2026-11-21T15:53:16.000000Z",
}


class BudgetChangeInput(Input):
    """What can be changed about a budget."""

    limit_usd = Dollars()


class BudgetInput(BudgetChangeInput):
    """A budget to set."""

    kind = Word(choices=BudgetKind.choices)
    user_id = Id(required=False, allow_null=True, help_text="For kind `member`.")
    api_key_id = Id(required=False, allow_null=True, help_text="For kind `key`.")
    period = Word(choices=Period.choices)


class BudgetOutput(Output):
    """A budget and where it stands."""

    id = serializers.UUIDField(source="budget.id")
    kind = serializers.ChoiceField(source="budget.kind", choices=BudgetKind.choices)
    user_id = serializers.UUIDField(source="budget.user_id", allow_null=True)
    api_key_id = serializers.UUIDField(source="budget.api_key_id", allow_null=True)
    target = serializers.CharField(source="target_label")
    period = serializers.ChoiceField(source="budget.period", choices=Period.choices)
    limit_usd = DollarsOut(source="budget.limit_micros")
    spent_usd = DollarsOut(source="spent_micros")
    reserved_usd = DollarsOut(
        source="reserved_micros", help_text="Set aside for runs in progress."
    )
    left_usd = DollarsOut(source="left_micros")
    resets_at = Time(allow_null=True, help_text="Null: the limit is for each run.")
    created_at = Time(source="budget.created_at")


class Budgets(RestView):
    """The budgets of the team."""

    tag = TAG
    rights = {"GET": READ_BUDGETS, "POST": MANAGE_BUDGETS}

    @operation("budget_list", "List budgets", page_of=BudgetOutput, example=EXAMPLE)
    def get(self, request: Request) -> Response:
        """Return the budgets in the order they were set, and where they stand."""
        return self.listed(budget_list(self.principal.team_id), BudgetOutput)

    @operation(
        "budget_create",
        "Set a budget",
        body=BudgetInput,
        answer=BudgetOutput,
        status=201,
        sent={"kind": "team", "period": "month", "limit_usd": "100.00"},
        example=EXAMPLE,
    )
    def post(self, request: Request) -> Response:
        """Set a budget. It counts from now on."""
        budget = budget_create(
            team=self.principal.team,
            values=self.read(BudgetInput),
            actor=self.principal.actor,
        )
        place = reverse("rest:budget", args=[budget.id])
        return self.created(_output(budget), place)


class OneBudget(RestView):
    """One budget."""

    tag = TAG
    rights = {"GET": READ_BUDGETS, "PATCH": MANAGE_BUDGETS, "DELETE": MANAGE_BUDGETS}

    @operation("budget_get", "Read a budget", answer=BudgetOutput, example=EXAMPLE)
    def get(self, request: Request, budget_id: uuid.UUID) -> Response:
        """Return a budget and where it stands."""
        return Response(_output(access_budget(self.principal.team_id, budget_id)))

    @operation(
        "budget_update",
        "Change a budget",
        body=BudgetChangeInput,
        answer=BudgetOutput,
        sent={"limit_usd": "50.00"},
        example=EXAMPLE,
    )
    def patch(self, request: Request, budget_id: uuid.UUID) -> Response:
        """Set another limit. The target and the period stay the same.

        A key cannot raise a budget that binds it: its own, its maker's or the team's.
        """
        budget = budget_update(
            budget=access_budget(self.principal.team_id, budget_id),
            values=self.read(BudgetChangeInput),
            actor=self.principal.actor,
            within=self.principal.key,
        )
        return Response(_output(budget))

    @operation("budget_delete", "Lift a budget")
    def delete(self, request: Request, budget_id: uuid.UUID) -> Response:
        """Lift a budget at once. A key cannot lift a budget that binds it."""
        budget_delete(
            budget=access_budget(self.principal.team_id, budget_id),
            actor=self.principal.actor,
            within=self.principal.key,
        )
        return Response(status=204)


def _output(budget: Budget) -> dict[str, Any]:
    return BudgetOutput(budget_status(budget)).data
