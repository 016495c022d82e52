"""The pages of a report: figures lead to results, results come in pages."""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.test import Client

from apps.console.evaluations.slope_chart import slope_chart
from apps.console.views.evaluation import evaluation_reports
from apps.evaluation.reports.comparison import compare
from apps.evaluation.selectors import results_of
from tests.conftest import Cast
from tests.evaluation.made_up import STATES, made_up_evaluation
from tests.evaluation.samples import suite

MEASURED = "0199c0de-0000-7000-8000-00000000000a"
BETTER = (("right",) * 10, *STATES[1:])


@pytest.fixture
def vera(cast: Cast) -> Client:
    client = Client()
    client.force_login(cast.vera)
    return client


def body(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_every_figure_of_a_report_leads_to_its_results(cast, vera):
    evaluation = made_up_evaluation(cast.team)
    page = body(vera, f"/evaluations/{evaluation.id}/")
    for query in (
        "system=0&amp;state=right",
        "system=0&amp;against=1",
        "system=0&amp;against=oracle",
        "system=0&amp;state=failed",
        "system=0&amp;plan=without",
        "system=0&amp;plan=rejected",
        "system=0&amp;plan=unparseable",
        "system=0&amp;worker=sim-birch",
        "system=0&amp;family=sums&amp;worker=sim-delta",
    ):
        assert f"results/?{query}" in page
    assert "worker failed, 1 time" in page
    assert "unparseable, 1 time" in page


def test_a_report_shows_steps_and_workers_of_each_family(cast, vera):
    page = body(vera, f"/evaluations/{made_up_evaluation(cast.team).id}/")
    assert "Steps and workers by family" in page
    assert "sim-birch: 1.00 steps of a task" in page
    assert 'data-shade="2" x="50.0" y="0" width="50.0"' in page


def test_results_come_in_pages_that_keep_their_filters(cast, vera, monkeypatch):
    monkeypatch.setattr(evaluation_reports, "ROWS_PER_PAGE", 4)
    evaluation = made_up_evaluation(cast.team)
    address = f"/evaluations/{evaluation.id}/results/"
    first = body(vera, f"{address}?system=1&state=wrong")
    assert "7 results" in first
    assert "?system=1&amp;state=wrong&amp;page=2" in first
    second = body(vera, f"{address}?system=1&state=wrong&page=2")
    assert "Page 2 of 2" in second
    assert second.count('href="/runs/0') == 3


def test_a_comparison_has_a_chart_and_pages_of_changes(cast, vera, monkeypatch):
    monkeypatch.setattr(evaluation_reports, "ROWS_PER_PAGE", 3)
    version = suite(cast.team)
    earlier = made_up_evaluation(cast.team, version)
    later = made_up_evaluation(cast.team, version, BETTER)
    address = f"/evaluations/{earlier.id}/comparison/?with={later.id}"
    page = body(vera, address)
    assert "conductor (ultra): 0.600, then 1.000" in page
    assert "Page 1 of 2" in page
    assert "capital-3" in body(vera, f"{address}&page=2")
    assert "Tasks that changed" in body(vera, f"{address}&system=no-number")
    assert "None." in body(vera, f"{address}&system=2")


def test_changes_of_two_systems_of_one_name_are_told_apart(cast, vera):
    version = suite(cast.team)
    pair = [made_up_evaluation(cast.team, version) for _ in range(2)]
    cascade = {"kind": "cascade", "cheap": "a", "strong": "b", "measured_by": MEASURED}
    twins = [{**cascade, "samples": count} for count in (2, 3, 4)]
    for evaluation in pair:
        evaluation.settings = {**evaluation.settings, "systems": twins}
        evaluation.save(update_fields=["settings"])
    changed = results_of(pair[1]).filter(system=1, state="right").earliest("place")
    changed.state = "wrong"
    changed.save(update_fields=["state"])
    address = f"/evaluations/{pair[0].id}/comparison/?with={pair[1].id}"
    assert "became wrong" not in body(vera, f"{address}&system=1")
    assert "became wrong" in body(vera, f"{address}&system=2")


def test_a_comparison_begins_with_one_that_has_a_system_in_common(cast, vera):
    version = suite(cast.team)
    mine, alike, other = (made_up_evaluation(cast.team, version) for _ in range(3))
    systems = [{"kind": "random_plan", "max_steps": n} for n in (2, 3, 4)]
    other.settings = {**other.settings, "systems": systems}
    other.save(update_fields=["settings"])
    page = body(vera, f"/evaluations/{mine.id}/comparison/")
    assert f'<option value="{alike.id}" selected>' in page


def test_numbers_of_a_chart_do_not_hide_each_other(cast):
    version = suite(cast.team)
    same = (STATES[1],) * 3
    pair = [made_up_evaluation(cast.team, version, same) for _ in range(2)]
    chart = slope_chart(compare(*pair).systems)
    assert chart is not None
    heights = sorted(slope.left_number_y for slope in chart.slopes)
    assert min(b - a for a, b in pairwise(heights)) >= 15
    assert {slope.direction for slope in chart.slopes} == {"same"}


def test_another_team_compares_nothing_with_it(cast, vera):
    mine = made_up_evaluation(cast.team)
    theirs = made_up_evaluation(cast.other_team)
    page = body(vera, f"/evaluations/{mine.id}/comparison/?with={theirs.id}")
    assert "Nothing to compare with" in page
