"""Makes what runs need of an A/B test, from its settings and the candidate's pool."""

from __future__ import annotations

from apps.core.errors import ConductorError
from apps.evaluation.ab.models import ABTest
from apps.evaluation.ab.selectors import is_full
from apps.evaluation.ab.settings import ABSettings
from apps.evaluation.ab.types import ActiveTest
from apps.evaluation.costs import model_of, prompt_context
from apps.evaluation.runnable import require_runnable
from apps.governance.policies.run_facts import patterns_of
from apps.governance.selectors import policies_in_force
from apps.pools.selectors import pool_snapshot


def active_test_of(test: ABTest) -> ActiveTest | None:
    """Return a test as runs need it; None: it is full, or its candidate is gone."""
    settings = ABSettings.model_validate(test.settings)
    if is_full(test):
        return None
    try:
        snapshot = pool_snapshot(test.team_id, settings.pool_of_candidate)
        require_runnable(
            (settings.candidate,),
            snapshot,
            grader=None,
            needs_prices=False,
            param="candidate",
        )
    except ConductorError:
        return None  # `ab_tests_end` ends it, and says why
    arranged = settings.candidate.arrange(prompt_context("", str(test.id), snapshot))
    is_open = settings.highest_data_class is None
    policies = () if is_open else policies_in_force(test.team_id)
    return ActiveTest(
        test.id,
        settings.percent,
        settings.highest_data_class,
        patterns_of(policies),
        model_of(arranged, snapshot),
        arranged.planner,
    )
