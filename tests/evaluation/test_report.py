"""What a report says of made-up results, and which results are behind its figures."""

from __future__ import annotations

import pytest

from apps.evaluation.reports.report import report_make
from apps.evaluation.reports.report_formats import report_values
from apps.evaluation.reports.report_markdown import report_markdown
from apps.evaluation.reports.result_filters import ResultFilters, results_found
from apps.evaluation.reports.statistics import paired_difference
from tests.evaluation.made_up import STATES, made_up_evaluation

TIER, DELTA, BIRCH = STATES


def test_systems_are_compared_with_the_oracle_and_the_best_single_worker(cast):
    report = report_make(made_up_evaluation(cast.team))
    tier, delta, birch = report.systems
    assert report.best_single is delta
    assert report.oracle is not None
    assert report.oracle.value == 0.7
    assert tier.difference == paired_difference(3, 3, 0, 4)
    assert tier.oracle_difference == paired_difference(6, 0, 1, 3)
    assert delta.difference is None
    assert birch.oracle_difference == paired_difference(2, 0, 5, 3)


def test_each_family_has_figures_of_its_own(cast):
    tier = report_make(made_up_evaluation(cast.team)).systems[0]
    sums, facts = tier.families["sums"], tier.families["facts"]
    assert (sums.ended, sums.right, facts.ended, facts.right) == (6, 5, 4, 1)
    assert (sums.tokens, sums.cost_micros, sums.steps) == (1_800, 18_000, 12)
    assert (sums.latency_ms(50), facts.latency_ms(50)) == (300, 800)
    assert sums.shares == {"sim-birch": 0.5, "sim-delta": 0.5}
    assert sums.difference == paired_difference(2, 3, 0, 1)
    assert facts.difference == paired_difference(1, 0, 0, 3)


def test_rejected_plans_are_listed_by_cause(cast):
    report = report_make(made_up_evaluation(cast.team))
    values = report_values(report)["systems"][0]
    assert values["rejected_plans"] == 2
    assert values["plan_faults"] == {"unparseable": 1, "bad_access": 1}
    text = report_markdown(report)
    assert "- conductor (ultra): unparseable × 1" in text
    assert "- conductor (ultra): worker_failed × 1" in text
    assert "| 1 | 1 | 2 |" in text


def test_the_files_have_every_family(cast):
    report = report_make(made_up_evaluation(cast.team))
    family = report_values(report)["systems"][0]["families"]["facts"]
    assert (family["right"], family["ended"], family["tokens"]) == (1, 4, 1_200)
    assert family["latency_ms"]["p50"] == 800
    assert family["difference_to_best_single"]["value"] == 0
    assert "sim-birch 50%, sim-delta 50% |" in report_markdown(report)


@pytest.mark.parametrize(
    ("filters", "places"),
    [
        ({"system": "1", "state": "right"}, [1, 7, 22]),
        ({"system": "0", "state": "failed"}, [18]),
        ({"plan": "without"}, [18]),
        ({"plan": "rejected"}, [18]),
        ({"plan": "unparseable"}, [18]),
        ({"plan": "truncated"}, []),
        ({"system": "0", "against": "1"}, [3, 9, 15]),
        ({"system": "1", "against": "0"}, [4, 10, 16]),
        ({"system": "0", "against": "oracle"}, [24]),
        ({"system": "0", "worker": "sim-delta", "family": "facts"}, [18, 21, 24, 27]),
        ({"system": "2", "worker": "sim-delta"}, []),
        ({"system": "7", "state": "asleep", "against": "x"}, list(range(30))),
    ],
)
def test_every_figure_leads_to_its_results(cast, filters, places):
    evaluation = made_up_evaluation(cast.team)
    found = results_found(evaluation, ResultFilters(**filters))
    assert [result.place for result in found] == places
