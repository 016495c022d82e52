"""What the page of reviewed tasks says: verifiers, and what became of the runs."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.evaluation.suites.reviewed import ReviewedAddition, SkippedRun

SUITE = "reviewed"
"""The name that the form suggests."""
VERIFIERS = (
    ("model_graded", _("A worker judges it by a rubric")),
    ("exact", _("The final answer is the same text")),
    ("numeric", _("The final answer is the same number")),
)
NAMED = 10
"""Runs that are named one by one."""


def added_text(added: ReviewedAddition) -> str:
    """Return what is in the suite now."""
    if added.version is None or not added.tasks:
        return gettext("No run was added.")
    if added.is_new:
        words = ngettext(
            "{number} run is in the suite “{suite}”, version {version}.",
            "{number} runs are in the suite “{suite}”, version {version}.",
            added.tasks,
        )
    else:
        words = ngettext(
            "{number} run is in the suite “{suite}”, version {version}, as before.",
            "{number} runs are in the suite “{suite}”, version {version}, as before.",
            added.tasks,
        )
    version = added.version
    return words.format(
        number=added.tasks, suite=version.suite.name, version=version.number
    )


def skipped_text(skipped: Sequence[SkippedRun]) -> str:
    """Name the runs that cannot be tasks, each with the reason."""
    named = [f"“{each.title or each.run_id}”: {each.reason}" for each in skipped]
    more = len(named) - NAMED
    rest = [gettext("and {number} more").format(number=more)] if more > 0 else []
    runs = "; ".join(named[:NAMED] + rest)
    return gettext("Left out: {runs}.").format(runs=runs)
