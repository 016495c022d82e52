"""A/B tests as the team's pages show them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.evaluation.ab.models import ABOutcome
from apps.evaluation.ab.report import ABReport, ArmFigures
from apps.evaluation.ab.settings import ABSettings
from apps.evaluation.models import ABTest
from apps.evaluation.reports.statistics import Interval

PER_RUNS = 1_000
BADGES = {
    ABOutcome.COMPLETED: "completed",
    ABOutcome.STOPPED: "cancelled",
    ABOutcome.FAILED: "failed",
}
"""States by which badges are coloured."""


@dataclass(frozen=True, slots=True)
class ABRow:
    """An A/B test for people."""

    test: ABTest
    settings: ABSettings

    @property
    def original(self) -> str:
        """Return the name of the tier."""
        return self.settings.original_name

    @property
    def candidate(self) -> str:
        """Return the candidate's name."""
        return self.settings.candidate_name

    @property
    def names(self) -> dict[str, str]:
        """Return both names, to be filled into sentences."""
        return {"original": self.original, "candidate": self.candidate}

    @property
    def state_words(self) -> str:
        """Return the state for people."""
        if self.test.is_open:
            return _("Running")
        return _(str(ABOutcome(self.test.outcome).label))

    @property
    def badge(self) -> str:
        """Return the state by which a badge is coloured."""
        if self.test.is_open:
            return "running"
        return BADGES[ABOutcome(self.test.outcome)]

    @property
    def started_by(self) -> str:
        """Return the name of the person or key that started it."""
        return str(self.test.requested_by.get("display", ""))


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm in the table of figures."""

    letter: str
    name: str
    figures: ArmFigures

    @property
    def cost_micros(self) -> int:
        """Return the cost of 1,000 runs."""
        return self.figures.cost_micros * PER_RUNS // max(self.figures.ended, 1)

    @property
    def tokens(self) -> int:
        """Return the tokens of one run."""
        return self.figures.tokens // max(self.figures.ended, 1)


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """What arm B has more than arm A."""

    what: str
    difference: Interval

    @property
    def words(self) -> str:
        """Return what the interval says."""
        if self.difference.low > 0:
            return _("more in B")
        return _("fewer in B") if self.difference.high < 0 else _("may be chance")


def ab_row(test: ABTest) -> ABRow:
    """Return a test as lists show it."""
    return ABRow(test, ABSettings.model_validate(test.settings))


def arm_rows(row: ABRow, report: ABReport) -> list[ArmRow]:
    """Return both arms."""
    return [
        ArmRow("A", row.original, report.a),
        ArmRow("B", row.candidate, report.b),
    ]


def difference_rows(report: ABReport) -> list[DifferenceRow]:
    """Return the differences that are known."""
    found = {
        _("Failed runs"): report.failures,
        _("Good ratings"): report.rated_good,
        _("Passed reviews"): report.passed,
    }
    return [DifferenceRow(what, each) for what, each in found.items() if each]
