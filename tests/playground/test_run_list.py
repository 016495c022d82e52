"""The list of runs and its filters."""

import re

import pytest

from apps.runs.models import RunState
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
    monkeypatch.setattr("apps.playground.views.RUNS_PER_PAGE", 2)
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
    monkeypatch.setattr("apps.playground.views.RUNS_PER_PAGE", 2)
    for _ in range(6):
        record_run(team, stories.planning())
    page = bob.get(f"{URL}?page=3").content.decode()
    assert "Page 2" in page
    assert "4+ runs" in page
    assert 'rel="next"' not in page


@pytest.mark.parametrize("filters", ["", "&state=completed", "&q=page"])
def test_pages_hold_every_run_once_and_in_order(bob, team, monkeypatch, filters):
    monkeypatch.setattr("apps.playground.run_lists.pagination.COUNTED", 2)
    monkeypatch.setattr("apps.playground.views.RUNS_PER_PAGE", 2)
    made = [
        record_run(team, stories.planning(), title="page", state=RunState.COMPLETED)
        for _ in range(7)
    ]
    shown = []
    for number in range(1, 5):
        page = bob.get(f"{URL}?page={number}{filters}").content.decode()
        shown += re.findall(r'data-run-id="([0-9a-f-]+)"', page)
    assert shown == [str(run.id) for run in reversed(made)]


def test_what_is_looked_for_is_looked_for_in_the_newest_runs(bob, team, monkeypatch):
    monkeypatch.setattr("apps.runs.records.search.SEARCHED", 2)
    for title in ("the red house", "a boat", "the red car"):
        record_run(team, stories.planning(), title=title)
    page = bob.get(f"{URL}?q=red").content.decode()
    assert "the red car" in page
    assert "the red house" not in page
    assert "in the newest 50,000 runs" in page


def test_query_budget_does_not_grow_with_the_runs(
    bob, team, django_assert_max_num_queries
):
    for _ in range(10):
        record_run(team, stories.planning())
    with django_assert_max_num_queries(10):
        bob.get(URL)


def test_r1_search_says_that_it_searches_titles_alone(bob, run):
    page = bob.get(URL).content.decode()
    assert (
        "The search looks at titles: the first 120 characters of each prompt." in page
    )
    assert (
        "Whole prompts and answers are stored encrypted and are not searched." in page
    )


def test_r1_search_without_a_result_does_not_say_that_there_is_none(bob, run):
    page = bob.get(f"{URL}?q=unheard&state=completed").content.decode()
    assert "No title contains “<bdi>unheard</bdi>”" in page
    assert "Only titles were searched" in page
    assert "that match the other filters" in page
    assert "may still stand later in a prompt, or in an answer" in page
    assert "No run matches" not in page


@pytest.mark.parametrize("planner", ["fallback", "direct", "llm", ""])
def test_run_that_was_answered_without_a_plan_is_marked(bob, team, planner):
    record_run(team, stories.finished(), planner=planner)
    is_marked = ">No plan</span>" in bob.get(URL).content.decode()
    assert is_marked is (planner == "fallback")
