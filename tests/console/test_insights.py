"""Insights: what queries cost, which faults happen, which plans are made."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.console.insight_charts import DayScale, bar_chart, line_chart
from apps.governance.models import RunFeedback
from apps.insights.rollup import team_insights_keep
from apps.runs.models import Run
from apps.web.formats import duration
from apps.web.formats import money as dollars
from tests.conftest import Cast
from tests.console.conftest import text_of
from tests.factories import PoolFactory, PriceFactory
from tests.insights.runs import FAULT, LOOP, PARALLEL, answered

URL, FAILURES, PLANS = "/insights/", "/insights/failures/", "/insights/plans/"
PAGES = (URL, FAILURES, PLANS)
FILES = tuple(f"/insights/{part}.csv" for part in ("queries", "failures", "plans"))


@pytest.fixture
def runs(cast: Cast) -> list[Run]:
    """Two runs of today and one of last week; faults in one, a loop in another."""
    now = timezone.now()
    cases: list[dict[str, Any]] = [
        {
            "at": now,
            "user": cast.alice,
            "actor_name": "Alice",
            "cost_micros": 1_500_000,
            "findings": [FAULT],
        },
        {
            "at": now,
            "user": cast.bob,
            "model": "conductor-mini",
            "plan": PARALLEL[:1],
            "findings": [LOOP],
            "state": "failed",
            "error_code": "worker_failed",
        },
        {"at": now - timedelta(days=8), "user": cast.bob, "api_key": cast.key.row},
    ]
    return [answered(cast, case.pop("at"), **case) for case in cases]


def cells(page: str, label: str) -> str:
    """Return the row of a table that is headed by a label."""
    return page[page.index(f"<bdi>{label}</bdi>") :].split("</tr>")[0]


# --- everybody -----------------------------------------------------------------------


@pytest.mark.parametrize("url", PAGES)
def test_team_that_ran_nothing_is_told_what_comes_here(alice, vera, url):
    assert "No runs in this period" in text_of(alice.get(url))
    assert "Start a run" in text_of(alice.get(url))
    assert "Start a run" not in text_of(vera.get(url))


@pytest.mark.parametrize("url", (*PAGES, *FILES))
def test_viewers_see_it_and_others_do_not(vera, client, runs, url):
    assert vera.get(url).status_code == 200
    assert client.get(url).status_code == 302


@pytest.mark.parametrize("url", PAGES)
def test_another_team_sees_none_of_it(mallory, runs, url):
    assert "No runs in this period" in text_of(mallory.get(url))


@pytest.mark.parametrize("url", FILES)
def test_files_of_another_team_have_no_rows(mallory, runs, url):
    assert len(text_of(mallory.get(url)).splitlines()) == 1


@pytest.mark.parametrize("url", PAGES)
def test_what_makes_no_sense_in_the_address_is_ignored(alice, runs, url):
    page = alice.get(f"{url}?days=bogus&group=nonsense&worker=%00&tests=maybe")
    assert page.status_code == 200
    assert '<option value="30" selected>' in text_of(page)


@pytest.mark.parametrize("url", PAGES)
def test_queries_do_not_grow_with_runs(alice, cast, runs, url, recorded_queries):
    for number in range(10):
        answered(cast, timezone.now() - timedelta(days=number), findings=[FAULT])
    with recorded_queries():
        alice.get(url)
    list(team_insights_keep(cast.team.id))
    with recorded_queries():
        alice.get(url)


def test_kept_days_show_the_same_page(alice, cast, runs):
    before = [text_of(alice.get(url)) for url in PAGES]
    list(team_insights_keep(cast.team.id))
    tokens = re.compile(r'nonce="[^"]*"|value="[A-Za-z0-9]{64}"')
    after = [text_of(alice.get(url)) for url in PAGES]
    assert [tokens.sub("", each) for each in after] == [
        tokens.sub("", each) for each in before
    ]


# --- queries -------------------------------------------------------------------------


def test_totals_and_charts_are_those_of_the_days(alice, runs):
    page = text_of(alice.get(URL))
    assert "$0.5007" in page  # 1.502 dollars, three runs
    assert page.count('<svg class="chart__picture"') == 4
    assert 'class="chart__path"' in page
    assert page.count("<details") >= 1


@pytest.mark.parametrize(
    ("group", "labels"),
    [
        ("tier", ["Ultra", "Mini"]),
        ("planner", ["Language model"]),
        ("worker", ["alpha", "beta", "gamma"]),
        ("member", ["Alice", "Bob"]),
        ("key", ["Without a key"]),
        ("source", ["API"]),
        ("family", ["No family"]),
    ],
)
def test_rows_are_grouped_as_asked(alice, runs, group, labels):
    page = text_of(alice.get(f"{URL}?group={group}"))
    rows = page[page.index('id="rows-title"') :]
    for label in labels:
        assert f"<bdi>{label}</bdi>" in rows


@pytest.mark.parametrize(
    ("highest", "scale"),
    [(0, "210"), (1, "210"), (2, "210"), (3, "420"), (5, "630"), (9, "1050")],
)
def test_axes_of_small_counts_have_no_number_twice(highest, scale):
    today = timezone.now().date()
    days = DayScale(today, today, str)
    assert "".join(bar_chart("n", "N", "", days, {today: highest}).scale) == scale


def test_axis_of_nothing_has_no_figures():
    today = timezone.now().date()
    times, money = DayScale(today, today, duration), DayScale(today, today, dollars)
    assert line_chart("n", "N", "", times, {"Median": {}}).scale == ("", "–", "")
    assert bar_chart("n", "N", "", money, {}).scale == ("", "–", "")
    assert bar_chart("n", "N", "", money, {today: 0}).scale == ("", "", "$0")


def test_days_of_charts_say_their_values(alice, runs):
    page = text_of(alice.get(FAILURES))
    today = timezone.now().date()
    assert f"<title>{today:%-d %b %Y}: 2</title>" in page
    assert "<summary>Show table</summary>" in page


def test_days_lead_to_the_list_of_their_runs(alice, runs):
    day = runs[2].created_at.date().isoformat()
    assert f"period={day}" in text_of(alice.get(URL))
    listed = text_of(alice.get(f"/runs/?period={day}"))
    assert str(runs[2].id) in listed and str(runs[0].id) not in listed


def test_runs_of_evaluations_count_only_if_asked_for(alice, cast, runs):
    answered(cast, timezone.now(), source="evaluation", cost_micros=9_000_000)
    assert "$9" not in text_of(alice.get(f"{URL}?group=source"))
    assert "$9" in text_of(alice.get(f"{URL}?group=source&tests=on"))


def test_day_that_stands_out_is_marked_with_the_reason(alice, cast):
    today = timezone.now().replace(hour=0, minute=5)
    for back in range(14):
        for minute in range(6):
            at = today - timedelta(days=back) + timedelta(seconds=minute)
            answered(cast, at, cost_micros=50_000 if back == 2 else 1_000 + minute)
    page = text_of(alice.get(URL))
    assert "Days that stand out" in page
    assert "Cost of a run: $0.0500, usually $0.0010" in page
    assert "data-odd" in page


def test_audit_estimates_one_worker_and_takes_the_dearest(alice, cast, runs):
    pool = PoolFactory.create(team=cast.team)
    for place, rate in zip(
        pool.places.order_by("position"), (1, 10_000, 5), strict=True
    ):
        PriceFactory.create(
            worker=place.worker, input_micros=rate, output_micros=rate * 100_000
        )
    page = text_of(alice.get(URL))
    audit = page[page.index("API efficiency audit") :]
    assert "All runs, compared with <bdi>beta</bdi> alone" in audit
    assert "estimated" in audit
    chosen = text_of(alice.get(f"{URL}?worker=gamma"))
    assert "All runs, compared with <bdi>gamma</bdi> alone" in chosen


def test_audit_without_prices_says_so(alice, runs):
    assert "No worker of this team has a price" in text_of(alice.get(URL))


# --- failures ------------------------------------------------------------------------


def test_faults_are_listed_with_rescue_cost_and_examples(alice, runs):
    page = text_of(alice.get(FAILURES))
    row = page[page.index("Rate limited") :].split("</tr>")[0]
    assert "asked again 1" in row
    assert "<$0.0001" in row.replace("&lt;", "<")
    assert f"/runs/{runs[0].id}/" in row
    assert "<polyline" in row


def test_failed_runs_are_faults_by_their_code(alice, runs):
    page = text_of(alice.get(FAILURES))
    row = page[page.index("Worker failed") :].split("</tr>")[0]
    assert "Whole run" in row and f"/runs/{runs[1].id}/" in row


def test_loops_are_listed_apart(alice, runs):
    page = text_of(alice.get(FAILURES))
    loops = page[page.index('id="loops-title"') :]
    assert "Repeated subtask" in loops and "Rate limited" not in loops


def test_faults_that_did_not_happen_are_named(alice, runs):
    page = text_of(alice.get(FAILURES))
    unseen = page[page.index("Faults that did not happen") :].split("</details>")[0]
    assert "Idle timeout" in unseen and "Rate limited" not in unseen


# --- plans ---------------------------------------------------------------------------


def test_plans_are_drawn_with_their_success(alice, runs):
    page = text_of(alice.get(PLANS))
    row = page[page.index("<td>2 → 1</td>") :].split("</tr>")[0]
    assert "100 %" in row
    single = page[page.index("<td>1</td>") :].split("</tr>")[0]
    assert "0 %" in single
    assert page.count('class="mini-graph"') == 2


def test_ratings_count_for_the_shape_of_their_run(alice, cast, runs):
    RunFeedback.objects.create(
        team=cast.team,
        run_id=runs[0].id,
        actor_type="user",
        actor_id="1",
        actor_name="Alice",
        rating="up",
        entry_seq=1,
    )
    row = text_of(alice.get(PLANS)).split("<td>2 → 1</td>")[1].split("</tr>")[0]
    assert "1, 0" in row


# --- files ---------------------------------------------------------------------------


def rows_of(client: Client, url: str) -> list[dict[str, str]]:
    response = client.get(url)
    assert "attachment" in response["Content-Disposition"]
    return list(csv.DictReader(io.StringIO(text_of(response))))


def test_files_hold_every_row_with_exact_figures(alice, runs):
    rows = rows_of(alice, "/insights/queries.csv?group=member")
    found = {row["label"]: (row["runs"], row["cost_usd"]) for row in rows}
    assert found == {"Alice": ("1", "1.50"), "Bob": ("2", "0.002")}
    faults = rows_of(alice, "/insights/failures.csv")
    assert {row["fault"] for row in faults} == {
        "rate_limited",
        "repeated_subtask",
        "worker_failed",
    }
    plans = rows_of(alice, "/insights/plans.csv")
    assert [(row["graph"], row["runs"]) for row in plans] == [
        ("2 → 1", "2"),
        ("1", "1"),
    ]


def test_no_cell_is_a_formula(alice, cast):
    cast.bob.name = "=HYPERLINK(1)"
    cast.bob.save()
    answered(cast, timezone.now(), user=cast.bob)
    rows = rows_of(alice, "/insights/queries.csv?group=member")
    assert rows[0]["label"] == "'=HYPERLINK(1)"
