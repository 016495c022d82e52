"""What an evaluation says it cost is what the entries of its runs add up to."""

from __future__ import annotations

from apps.audit.selectors import entry_list
from apps.evaluation.reports.report import report_make
from apps.evaluation.selectors import results_of
from tests.conftest import Site
from tests.evaluation.test_driver import ended, start

CALLS = (
    "plan.replied",
    "plan.call_failed",
    "step.completed",
    "step.attempt_failed",
)
GRADE = '[[say {"reason": "", "is_right": true}]]'


def test_costs_equal_those_of_the_entries_failed_calls_and_grades_included(site: Site):
    for name in ("fault-empty", "scripted"):
        site.add_worker(name)
    sums = [
        {
            "id": f"sum-{n}",
            "prompt": f"What is {n} + 4?",
            "verifier": {"kind": "numeric", "answer": n + 4},
        }
        for n in range(3)
    ]
    poem = {
        "id": "poem",
        "prompt": "Write a poem.",
        "verifier": {"kind": "model_graded", "rubric": GRADE},
    }
    evaluation = ended(
        start(
            site,
            {"kind": "tier", "tier": "ultra"},
            {"kind": "self_reflection", "worker": "fault-empty", "turns": 2},
            {"kind": "samples", "worker": "sim-birch"},
            tasks=[*sums, poem],
            grader="scripted",
        )
    )
    results = list(results_of(evaluation))
    run_ids = {str(result.run_id) for result in results}
    grading_ids = {str(r.grading_run_id) for r in results if r.grading_run_id}
    assert len(grading_ids) == 3
    entries = [
        entry
        for entry in entry_list(evaluation.team_id, limit=100_000)
        if entry.action in CALLS and str(entry.subject_id) in run_ids | grading_ids
    ]
    costs = {str(e.subject_id): 0 for e in entries}
    for entry in entries:
        costs[str(entry.subject_id)] += entry.data["cost_micros"]
    failed = [e for e in entries if e.action == "step.attempt_failed"]
    assert any(entry.data["cost_micros"] > 0 for entry in failed)
    for result in results:
        assert result.cost_micros == costs[str(result.run_id)]
        if result.grading_run_id:
            assert result.grading_cost_micros == costs[str(result.grading_run_id)] > 0
    assert evaluation.cost_micros == sum(costs.values())
    systems = report_make(evaluation).systems
    told = sum(each.cost_micros + each.grading_cost_micros for each in systems)
    assert told == evaluation.cost_micros
