"""Home: what needs a person and today's figures, each equal to its list."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.budgets.models import Budget, Spend, spend_id
from apps.budgets.periods import period_start
from apps.budgets.services import budget_create
from apps.governance.models import PolicyVersion
from tests.console.conftest import text_of
from tests.console.test_pool_planning import with_last_test
from tests.factories import ACTOR, WorkerFactory
from tests.governance.test_fail_closed import UNREADABLE
from tests.insights.runs import answered
from tests.recorded import RecordedQueries
from tests.rest.things import make_review, make_run

NEED = re.compile(
    r'<li><a href="([^"]*)"[^>]*>(?:<strong>([^<]*)</strong> )?<span>([^<]*)'
)
FIGURE = re.compile(r'<dt>([^<]*)</dt><dd><a href="([^"]*)">([^<]*)</a>')
COUNTED = re.compile(r'id="run-count">([\d,]+) run')


def needs(browser: Client) -> dict[str, tuple[int, str]]:
    """Return number and address of what needs a person, by its words."""
    found = NEED.findall(text_of(browser.get("/home/")))
    return {words: (int(n or 1), html.unescape(url)) for url, n, words in found}


def figures(browser: Client) -> dict[str, tuple[str, str]]:
    found = FIGURE.findall(text_of(browser.get("/home/")))
    return {label: (text, html.unescape(url)) for label, url, text in found}


def counted(browser: Client, address: str) -> int:
    """Return how many runs a list says there are."""
    found = COUNTED.search(text_of(browser.get(address)))
    assert found is not None, address
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("who", ["bob", "vera"])
def test_others_are_led_to_the_playground(request: Any, who: str):
    assert request.getfixturevalue(who).get("/home/").headers["Location"] == "/"


def test_owners_and_admins_begin_here(alice: Client, ada: Client):
    for browser in (alice, ada):
        assert "Needs attention" in text_of(browser.get("/home/"))


def test_team_without_a_planned_answer_sees_what_it_lacks(alice: Client):
    assert "Steps to your first planned answer" in text_of(alice.get("/home/"))


def test_sign_in_leads_home(cast: Any, client: Client):
    cast.alice.set_password("a long pass phrase")
    cast.alice.save()
    fields = {"login": cast.alice.email, "password": "a long pass phrase"}
    assert client.post("/accounts/login/", fields).headers["Location"] == "/home/"


def test_figures_of_today_are_those_of_their_lists(cast: Any, alice: Client):
    now = timezone.now()
    for state in ("completed", "completed", "failed"):
        answered(cast, now, state=state)
    answered(cast, now - timedelta(days=2))
    found = figures(alice)
    assert found["Runs today"][0] == "3"
    assert counted(alice, found["Runs today"][1]) == 3
    assert found["Failed today"][0] == "1"
    assert counted(alice, found["Failed today"][1]) == 1
    assert found["Latency today, median"][0] == "2.0 s"


def test_first_day_lists_runs_and_the_second_draws_days(cast: Any, alice: Client):
    now = timezone.now()
    answered(cast, now, title="Of a person")
    answered(cast, now, title="Of an evaluation", source="evaluation")
    first = text_of(alice.get("/home/"))
    assert "Newest runs" in first
    assert "Of a person" in first
    assert "Of an evaluation" not in first
    assert "Last 14 days" not in first
    answered(cast, now - timedelta(days=2))
    second = text_of(alice.get("/home/"))
    assert "Last 14 days" in second
    assert "Newest runs" not in second


def test_money_of_today_and_of_the_month(cast: Any, alice: Client):
    answered(cast, timezone.now(), cost_micros=2_000_000)
    found = figures(alice)
    assert found["Spent today"][0] == found["Spent this month"][0] != "$0.0000"


def test_runs_without_a_plan_are_counted_as_their_list_does(cast: Any, alice: Client):
    for planner in ("fallback", "fallback", "language_model"):
        make_run(cast, planner=planner)
    make_run(cast, planner="fallback", created_at=timezone.now() - timedelta(days=30))
    number, url = needs(alice)["runs answered without a plan in the last 7 days"]
    assert number == counted(alice, url) == 2


def test_failing_workers_are_counted_as_their_list_does(cast: Any, alice: Client):
    for name in ("one", "two"):
        with_last_test(cast.team, name, ok=False)
    WorkerFactory.create(team=cast.team, name="three")
    number, url = needs(alice)["failing workers"]
    page = text_of(alice.get(url))
    assert number == page.count('<tbody id="worker-') == 2
    assert "2 failing of 3 workers" in page


def test_reviews_that_wait_are_counted(cast: Any, alice: Client):
    make_review(cast)
    number, url = needs(alice)["run waiting for review"]
    assert number == 1
    assert "What is 17 * 23 + 4?" in text_of(alice.get(url))


def test_unreadable_policy_is_said(cast: Any, alice: Client):
    PolicyVersion.objects.create(team=cast.team, version=1, document=UNREADABLE)
    assert needs(alice)["policy that cannot be read"] == (1, "/policy/")


def test_budgets_near_their_end_are_counted_and_drawn(cast: Any, alice: Client):
    values = {"kind": "team", "period": "month", "limit_usd": "10.00"}
    budget = budget_create(team=cast.team, values=values, actor=ACTOR)
    spend(budget, 9_000_000)
    assert needs(alice)["budget used up, or nearly so"] == (1, "/budgets/")
    assert "90 per cent spent" in text_of(alice.get("/home/"))


def spend(budget: Budget, micros: int) -> None:
    starts_on = period_start(budget.period, timezone.now())
    assert starts_on is not None
    Spend.objects.create(
        id=spend_id(budget.id, starts_on),
        team_id=budget.team_id,
        budget=budget,
        starts_on=starts_on,
        spent_micros=micros,
    )


def test_team_without_a_pool_is_told_so(mallory: Client):
    assert needs(mallory)["No pool yet, so nothing runs"] == (1, "/pools/")


def test_other_teams_count_for_nothing(cast: Any, mallory: Client):
    answered(cast, timezone.now())
    make_review(cast)
    assert figures(mallory)["Runs today"][0] == "0"
    assert set(needs(mallory)) == {"No pool yet, so nothing runs"}


def test_number_of_queries_does_not_grow(
    cast: Any, alice: Client, recorded_queries: RecordedQueries
):
    for _ in range(5):
        answered(cast, timezone.now())
        WorkerFactory.create(team=cast.team)
    with recorded_queries():
        alice.get("/home/")
