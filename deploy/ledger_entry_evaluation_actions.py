"""Actions on suites, evaluations and learning data, and what their entries hold."""

from __future__ import annotations

from collections.abc import Mapping

from deploy.ledger_entry_shapes import (
    CHANGE,
    NAME,
    SHA256,
    VERSION,
    Action,
    count,
    deleted,
    flag,
    mapping,
    or_null,
    text,
)


def promoted(subject: str) -> Action:
    """Return the action of a promotion by a kind of test."""
    return _replaced("A tier became the candidate of a test.", subject)


def demoted(subject: str) -> Action:
    """Return the action that takes a promotion back."""
    return _replaced("A tier became again what it was before a promotion.", subject)


def _replaced(meaning: str, subject: str) -> Action:
    facts = {
        "name": NAME,
        "before": mapping("Values of the pool until then."),
        "after": mapping("Values of the pool since."),
    }
    return Action(meaning, subject, facts)


EVALUATION_ACTIONS: Mapping[str, Action] = {
    "suite.imported": Action(
        "Tasks became the newest version of a suite.",
        "suite",
        {
            "name": NAME,
            "version": VERSION,
            "tasks": count("Tasks of this version."),
            "digest": SHA256,
        },
        optional={"is_simulated": flag("They are of the simulated benchmark.")},
    ),
    "suite.deleted": deleted("A suite, with the results on its tasks,", "suite"),
    "evaluation.started": Action(
        "Somebody ordered an evaluation.",
        "evaluation",
        {
            "suite": NAME,
            "suite_version": count("Version of the suite."),
            "suite_digest": SHA256,
            "tasks": count("Tasks that each system gets."),
            "settings": mapping("Pool, systems, tasks, seed and limits."),
        },
    ),
    "evaluation.imported": Action(
        "The results of an evaluation that was made elsewhere were imported.",
        "evaluation",
        {
            "suite": NAME,
            "suite_version": count("Version of the suite."),
            "suite_digest": SHA256,
            "settings": mapping("Pool, systems, tasks, seed and limits."),
            "file_digest": SHA256,
            "results": count("Results in the file."),
            "right": count("Results that are right."),
            "cost_micros": count("Known cost of all runs, in micro-dollars."),
        },
    ),
    "evaluation.cancelled": Action("Somebody cancelled an evaluation.", "evaluation"),
    "evaluation.ended": Action(
        "An evaluation ended.",
        "evaluation",
        {
            "outcome": text("completed, cancelled, budget or failed."),
            "error": text("Why it failed; or empty."),
            "results": count("Tasks of all systems together."),
            "graded": count("Results that have ended."),
            "right": count("Results that are right."),
            "cost_micros": count("Known cost of all runs, in micro-dollars."),
        },
        outcomes=("success", "failure"),
    ),
    "shadow_test.started": Action(
        "Somebody started a shadow test.",
        "shadow_test",
        {"name": NAME, "settings": mapping("Tier, candidate, share and limits.")},
    ),
    "shadow_test.stopped": Action(
        "Somebody stopped a shadow test.", "shadow_test", {"name": NAME}
    ),
    "shadow_test.ended": Action(
        "A shadow test ended.",
        "shadow_test",
        {
            "name": NAME,
            "outcome": text("completed, stopped, budget or failed."),
            "error": text("Why it failed; or empty."),
            "mirrored": count("Runs that were mirrored."),
            "skipped": count("Runs that were left out."),
        },
        outcomes=("success", "failure"),
    ),
    "shadow_test.promoted": promoted("shadow_test"),
    "shadow_test.demoted": demoted("shadow_test"),
    "ab_test.started": Action(
        "Somebody started an A/B test.",
        "ab_test",
        {"name": NAME, "settings": mapping("Tier, candidate, share and limits.")},
    ),
    "ab_test.stopped": Action(
        "Somebody stopped an A/B test, or promoted its candidate.",
        "ab_test",
        {"name": NAME},
    ),
    "ab_test.ended": Action(
        "An A/B test ended.",
        "ab_test",
        {
            "name": NAME,
            "outcome": text("completed, stopped or failed."),
            "error": text("Why it failed; or empty."),
            "runs_a": count("Runs that the tier answered as it is."),
            "runs_b": count("Runs that the candidate answered."),
        },
        outcomes=("success", "failure"),
    ),
    "ab_test.promoted": promoted("ab_test"),
    "ab_test.demoted": demoted("ab_test"),
    "training.settings_updated": Action(
        "A team changed whether planners learn from its requests, or how many explore.",
        "training",
        CHANGE,
    ),
    "training.started": Action(
        "Somebody started the training of a pool's light planner.",
        "training",
        {
            "pool": NAME,
            "suite": NAME,
            "suite_version": count("Number of the suite's version."),
            "settings": mapping("Runs, tasks, margin, tiers and limits."),
        },
    ),
    "training.cancelled": Action("Somebody cancelled a training.", "training", {}),
    "training.ended": Action(
        "A training ended.",
        "training",
        {
            "pool": NAME,
            "outcome": text("used, better, not_better, cancelled, budget or failed."),
            "error": text("Why it failed; or empty."),
            "planner_version": or_null(count("The version that it fitted last.")),
        },
        {
            "embedding_cost_micros": count(
                "What the vectors of prompts cost, in micro-dollars; without a price 0."
            ),
        },
        outcomes=("success", "failure"),
    ),
    "training.data_exported": Action(
        "Somebody took the learning data of a pool as a file.",
        "training",
        {
            "pool": NAME,
            "learns_from_requests": flag("Runs of people and API keys are in it."),
        },
    ),
    "training.subtasks_read": Action(
        "Somebody read the subtasks of graded runs, compared by outcome.",
        "training",
        {
            "pool": NAME,
            "family": or_null(text("Of the runs; null: of all.")),
            "worker": text("Whose steps; empty: of all."),
            "runs": count("Graded runs that were read."),
            "subtasks": count("Texts that were shown."),
        },
    ),
}
