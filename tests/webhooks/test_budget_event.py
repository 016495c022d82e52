"""A run uses a budget up, and the webhook hears of it once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from apps.budgets.crossings import budget_crossings_record
from apps.budgets.services import budget_update
from tests.conftest import Site
from tests.factories import ACTOR
from tests.runs.test_budgets import ask, put, spent
from tests.webhooks.conftest import Receiver, deliver_all


def test_g18_a_run_that_uses_a_budget_up_is_told_to_the_webhook(
    site: Site, make: Any, receiver: Receiver
) -> None:
    cast = site.cast
    budget = put(cast, "10.00")
    make("budget.crossed")
    (said,) = ask(site)
    assert said.status == 200
    micros, _ = spent(cast)
    usd = str(Decimal(micros) / 1_000_000)
    budget_update(budget=budget, values={"limit_usd": usd}, actor=ACTOR)
    list(budget_crossings_record())
    assert list(budget_crossings_record()) == []
    deliver_all()
    (request,) = receiver.requests
    assert request.event["type"] == "conductor.budget.crossed"
    told = request.event["data"]
    assert (told["percent"], told["kind"], told["period"]) == (100, "team", "month")
    assert Decimal(told["spent_usd"]) == Decimal(told["limit_usd"]) == Decimal(usd)
