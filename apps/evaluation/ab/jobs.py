"""Ends A/B tests that are over, for the site's regular jobs.

What that takes is imported with the first test, not at the start of the process.
"""

from __future__ import annotations

from collections.abc import Iterator

from apps.evaluation.ab.models import ABTest


def ab_tests_end() -> Iterator[int]:
    """End the tests of all teams that are over; yield how many after each step."""
    for test in ABTest.objects.across_teams().filter(outcome=""):
        from apps.evaluation.ab.services import ab_end_due

        yield int(ab_end_due(test))
