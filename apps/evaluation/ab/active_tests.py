"""Makes what runs need of an A/B test, from its settings and the candidate's pool."""

from __future__ import annotations

from apps.core.errors import ConductorError
from apps.evaluation.ab.models import ABTest
from apps.evaluation.ab.selectors import is_full
from apps.evaluation.ab.settings import ABSettings
from apps.evaluation.ab.types import ActiveTest
from apps.evaluation.costs import model_of, pool_of_system, prompt_context
from apps.evaluation.runnable import require_candidate
from apps.governance.policies.run_facts import patterns_of
from apps.governance.selectors import policies_in_force
from apps.runs.types import RunArm


def active_test_of(test: ABTest) -> ActiveTest | None:
    """Return a test as runs need it; None: it is full, or its candidate is gone."""
    settings = ABSettings.model_validate(test.settings)
    if is_full(test):
        return None
    try:
        require_candidate(test.team_id, settings)
        candidate = _candidate_arm(test, settings)
    except ConductorError:
        return None  # `ab_tests_end` ends it, and says why
    is_open = settings.highest_data_class is None
    policies = () if is_open else policies_in_force(test.team_id)
    return ActiveTest(
        test.id,
        settings.percent,
        settings.highest_data_class,
        patterns_of(policies),
        candidate,
    )


def _candidate_arm(test: ABTest, settings: ABSettings) -> RunArm:
    snapshot = pool_of_system(
        settings.candidate, test.team_id, settings.pool_of_candidate
    )
    arranged = settings.candidate.arrange(prompt_context("", str(test.id), snapshot))
    return RunArm(
        test.id,
        "b",
        model_of(arranged, snapshot),
        arranged.planner,
        arranged.conductor,
        arranged.max_rounds,
        arranged.pool_version,
        arranged.restrictions.workers,
        arranged.restrictions.max_steps,
    )
