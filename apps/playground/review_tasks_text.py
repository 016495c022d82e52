"""What the page of reviewed tasks says: verifiers, and what became of the runs."""

from __future__ import annotations

from collections.abc import Sequence

from apps.evaluation.suites.reviewed import ReviewedAddition, SkippedRun

SUITE = "reviewed"
"""The name that the form suggests."""
VERIFIERS = (
    ("model_graded", "A worker judges it by a rubric"),
    ("exact", "The final answer is the same text"),
    ("numeric", "The final answer is the same number"),
)
NAMED = 10
"""Runs that are named one by one."""


def added_text(added: ReviewedAddition) -> str:
    """Return what is in the suite now."""
    if added.version is None or not added.tasks:
        return "No run was added."
    runs = "1 run is" if added.tasks == 1 else f"{added.tasks} runs are"
    suite = f"the suite “{added.version.suite.name}”, version {added.version.number}"
    return f"{runs} in {suite}." if added.is_new else f"{runs} in {suite}, as before."


def skipped_text(skipped: Sequence[SkippedRun]) -> str:
    """Name the runs that cannot be tasks, each with the reason."""
    named = [f"“{each.title or each.run_id}”: {each.reason}" for each in skipped]
    more = len(named) - NAMED
    rest = [f"and {more} more"] if more > 0 else []
    return f"Left out: {'; '.join(named[:NAMED] + rest)}."
