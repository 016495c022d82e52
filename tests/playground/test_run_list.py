"""The list of runs and its filters."""

import re
from uuid import UUID

import pytest
from django.test import Client

from apps.runs.models import RunState
from tests.factories import issue_key
from tests.playground import stories
from tests.playground.conftest import record_run

URL = "/runs/"


def test_runs_of_the_team_are_listed(bob, run):
    assert str(run.id) in bob.get(URL).content.decode()


def test_outsider_sees_none_of_them(mallory, run):
    assert str(run.id) not in mallory.get(URL).content.decode()


def test_anonymous_signs_in_first(client, db):
    assert client.get(URL).status_code == 302


@pytest.mark.parametrize(
    "query", ["state=failed", "model=other", "who=Zoe", "period=hour"]
)
def test_filter_that_fits_nothing_says_so(bob, run, query):
    page = bob.get(f"{URL}?{query}").content.decode()
    assert "No run matches these filters" in page


@pytest.mark.parametrize(
    "query", ["state=completed", "q=PostgreSQL", "model=conductor-ultra", "who=Ali"]
)
def test_filter_that_fits_keeps_the_run(bob, run, query):
    assert str(run.id) in bob.get(f"{URL}?{query}").content.decode()


def test_filters_are_kept_in_the_fields(bob, run):
    page = bob.get(f"{URL}?q=PostgreSQL&state=completed").content.decode()
    assert 'value="PostgreSQL"' in page
    assert '<option value="completed" selected>' in page


def test_unknown_filter_value_is_ignored(bob, run):
    assert str(run.id) in bob.get(f"{URL}?state=bogus").content.decode()


def test_models_in_use_can_be_chosen(bob, team, run):
    record_run(team, stories.finished(), model="worker/gpt-5")
    page = bob.get(f"{URL}?model=worker/gpt-5").content.decode()
    assert '<option value="conductor-ultra">' in page
    assert '<option value="worker/gpt-5" selected>' in page


def test_models_of_another_team_are_not_named(mallory, run):
    assert "conductor-ultra" not in mallory.get(URL).content.decode()


def test_chosen_model_stays_even_if_no_recent_run_has_it(bob, run):
    page = bob.get(f"{URL}?model=retired").content.decode()
    assert '<option value="retired" selected>' in page


def test_runs_that_no_caller_waits_for_can_be_left_out(bob, team, run):
    record_run(team, stories.finished(), source="evaluation")
    for source, shown in (("", 2), ("callers", 1), ("evaluation", 1), ("shadow", 0)):
        page = bob.get(f"{URL}?source={source}").content.decode()
        assert page.count("data-run-id") == shown, source


def test_small_drawing_shows_the_state_of_each_step(bob, team):
    steps = [("alpha", [], "completed"), ("beta", [0], "failed")]
    names = ("worker", "access", "state")
    plan = [dict(zip(names, step, strict=True)) for step in steps]
    record_run(team, stories.finished(), plan=plan)
    page = bob.get(URL).content.decode()
    assert 'aria-label="Plan: alpha completed, beta failed"' in page
    assert '"mini-graph__node" data-state="failed"' in page


def test_empty_list_says_what_to_do(bob):
    assert "Start the first run" in bob.get(URL).content.decode()


def test_second_page_holds_the_rest(bob, team):
    for _ in range(26):
        record_run(team, stories.planning(), state=RunState.RUNNING)
    assert bob.get(f"{URL}?page=2").content.decode().count("data-run-id") == 1


@pytest.mark.parametrize(
    ("asked", "shown"), [("", 1), ("2", 2), ("3", 3), ("9", 3), ("-1", 1), ("x", 1)]
)
def test_pages_go_on_behind_the_runs_that_are_counted(
    bob, team, monkeypatch, asked, shown
):
    monkeypatch.setattr("apps.playground.run_lists.pagination.COUNTED", 4)
    monkeypatch.setattr("apps.playground.run_lists.views.RUNS_PER_PAGE", 2)
    for _ in range(6):
        record_run(team, stories.planning())
    page = bob.get(f"{URL}?page={asked}").content.decode()
    assert page.count("data-run-id") == 2
    assert f"Page {shown}" in page
    assert (f"page={shown + 1}" in page) == (shown < 3)
    assert ("4+ runs" in page) == (shown < 3)


def test_pages_lead_no_further_than_the_database_steps_quickly(bob, team, monkeypatch):
    monkeypatch.setattr("apps.playground.run_lists.pagination.COUNTED", 2)
    monkeypatch.setattr("apps.playground.run_lists.pagination.REACHED", 4)
    monkeypatch.setattr("apps.playground.run_lists.views.RUNS_PER_PAGE", 2)
    for _ in range(6):
        record_run(team, stories.planning())
    page = bob.get(f"{URL}?page=3").content.decode()
    assert "Page 2" in page
    assert "4+ runs" in page
    assert 'rel="next"' not in page


@pytest.mark.parametrize("filters", ["", "&state=completed", "&q=compare"])
def test_pages_hold_every_run_once_and_in_order(bob, team, monkeypatch, filters):
    monkeypatch.setattr("apps.playground.run_lists.pagination.COUNTED", 2)
    monkeypatch.setattr("apps.playground.run_lists.views.RUNS_PER_PAGE", 2)
    made = [
        record_run(team, stories.planning(), state=RunState.COMPLETED) for _ in range(7)
    ]
    shown = []
    for number in range(1, 5):
        page = bob.get(f"{URL}?page={number}{filters}").content.decode()
        shown += re.findall(r'data-run-id="([0-9a-f-]+)"', page)
    assert shown == [str(run.id) for run in reversed(made)]


def test_what_is_looked_for_is_looked_for_in_the_newest_runs(bob, team, monkeypatch):
    monkeypatch.setattr("apps.runs.records.search.SEARCHED", 2)
    for title, name in (("house", "Red"), ("boat", "Blue"), ("car", "Red")):
        record_run(team, stories.planning(), title=title, actor_name=name)
    page = bob.get(f"{URL}?who=red").content.decode()
    assert ">car</a>" in page
    assert ">house</a>" not in page
    assert "in the newest 50,000 runs" in page


def test_query_budget_does_not_grow_with_the_runs(bob, team, recorded_queries):
    for _ in range(10):
        record_run(team, stories.planning())
    with recorded_queries():
        bob.get(URL)


@pytest.mark.parametrize("planner", ["fallback", "direct", "llm", ""])
def test_run_that_was_answered_without_a_plan_is_marked(bob, team, planner):
    record_run(team, stories.finished(), planner=planner)
    is_marked = 'data-state="unplanned"' in bob.get(URL).content.decode()
    assert is_marked is (planner == "fallback")


@pytest.mark.parametrize(
    ("tier", "model", "is_marked"),
    [
        ("ultra", "conductor-ultra", True),
        ("mini", "conductor-mini", False),
        ("direct", "worker/gpt-5", False),
    ],
)
def test_tier_that_should_have_planned_is_marked_and_a_direct_call_is_not(
    bob, team, tier, model, is_marked
):
    record_run(
        team, stories.finished(), planner="single_worker", tier=tier, model=model
    )
    page = bob.get(URL).content.decode()
    assert ('data-state="unplanned"' in page) is is_marked
    assert ("The ultra tier of the pool does not plan" in page) is is_marked


@pytest.mark.parametrize(
    "chosen", [{"source": "evaluation"}, {"ab_arm": "b", "ab_test_id": UUID(int=1)}]
)
def test_single_worker_of_an_evaluation_or_a_candidate_is_no_missing_plan(
    bob, team, chosen
):
    record_run(
        team, stories.finished(), planner="single_worker", tier="ultra", **chosen
    )
    assert 'data-state="unplanned"' not in bob.get(URL).content.decode()


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("min_cost=0.02", ["dear"]),
        ("min_cost=0.010001", ["dear"]),
        ("min_time=1.5", ["dear"]),
        ("flag=faults", ["faulty"]),
        ("flag=unplanned", ["plain"]),
        ("flag=unknown_cost", ["faulty"]),
        ("min_cost=-1", ["dear", "faulty", "plain"]),
    ],
)
def test_runs_are_filtered_by_cost_time_and_what_is_remarkable(
    bob, three_runs, query, kept
):
    assert titles(bob.get(f"{URL}?{query}")) == kept


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("cost", ["dear", "plain", "faulty"]),
        ("-cost", ["faulty", "plain", "dear"]),
        ("tokens", ["faulty", "dear", "plain"]),
        ("time", ["dear", "plain", "faulty"]),
        ("-time", ["plain", "dear", "faulty"]),
        ("bogus", ["dear", "faulty", "plain"]),
    ],
)
def test_list_is_sorted_by_a_figure_and_unknown_ones_are_last(
    bob, team, three_runs, sort, order
):
    assert titles(bob.get(f"{URL}?sort={sort}")) == order
    program = Client(headers={"authorization": f"Bearer {issue_key(team).secret}"})
    answer = program.get(f"/api/v1/runs/?sort={sort}&limit=2")
    if sort == "bogus":
        assert answer.status_code == 400
        return
    page = answer.json()
    rest = program.get(f"/api/v1/runs/?sort={sort}&cursor={page['next_cursor']}").json()
    assert [run["title"] for run in page["data"] + rest["data"]] == order


def test_sorted_list_says_of_how_many_runs_it_is(bob, three_runs, monkeypatch):
    monkeypatch.setattr("apps.runs.records.search.SORTED", 2)
    page = bob.get(f"{URL}?sort=-cost")
    assert titles(page) == ["faulty", "dear"]
    assert "Sorted: the newest 10,000 of these runs" in page.content.decode()


def test_click_on_a_head_sorts_down_then_up_then_not(bob, three_runs):
    page = bob.get(f"{URL}?state=completed&page=1").content.decode()
    assert 'href="?state=completed&amp;sort=cost"' in page
    page = bob.get(f"{URL}?state=completed&sort=cost").content.decode()
    assert 'href="?state=completed&amp;sort=-cost"' in page
    assert 'aria-sort="descending"' in page
    page = bob.get(f"{URL}?state=completed&sort=-cost").content.decode()
    assert 'href="?state=completed"' in page


def test_columns_that_are_not_chosen_stay_hidden(bob, vera, run):
    answer = bob.post(f"{URL}columns/?state=completed", {"columns": ["cost", "time"]})
    assert answer["Location"] == f"{URL}?state=completed"
    page = bob.get(URL).content.decode()
    assert 'data-hide="plan state model who steps tokens started"' in page
    assert 'data-hide=""' in vera.get(URL).content.decode()


@pytest.fixture
def three_runs(team):
    finding = {"stage": "step", "fault": "timeout", "worker": "a", "cost": 1}
    for title, fields in {
        "plain": {"planner": "fallback", "cost_micros": 10_000, "latency_ms": 1000},
        "faulty": {
            "findings": [finding],
            "has_unknown_cost": True,
            "prompt_tokens": 9,
        },
        "dear": {
            "findings": [],
            "cost_micros": 20_000,
            "latency_ms": 2000,
            "completion_tokens": 8,
        },
    }.items():
        record_run(team, stories.finished(), title=title, **fields)


def titles(response):
    """Return the titles of the rows of a page, in order."""
    return re.findall(r'dir="auto">(\w+)</a>', response.content.decode())
