"""Shadow tests as the team's pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from apps.audit.models import JobState
from apps.evaluation.models import MirroredRun, ShadowTest
from apps.evaluation.opinions import RunOpinions
from apps.evaluation.shadow.models import Judgement, MirrorState, ShadowOutcome
from apps.evaluation.shadow.report import ShadowReport, SideFigures, pairs_with_opinions
from apps.evaluation.shadow.selectors import mirrored_of
from apps.evaluation.shadow.settings import ShadowSettings
from apps.web.recorded_words import fault_word

PER_RUNS = 1_000
BADGES = {
    ShadowOutcome.COMPLETED: "completed",
    ShadowOutcome.STOPPED: "cancelled",
}
"""States by which badges are coloured; all others have failed."""


@dataclass(frozen=True, slots=True)
class ShadowRow:
    """A shadow test and how far it is."""

    test: ShadowTest
    settings: ShadowSettings
    mirrored: int

    @property
    def is_open(self) -> bool:
        """Say whether it is still under way."""
        return self.test.state != JobState.DONE

    @property
    def original(self) -> str:
        """Return the name of the tier whose runs are mirrored."""
        return self.settings.original_name

    @property
    def candidate(self) -> str:
        """Return the candidate's name, with its pool if it is another one."""
        return self.settings.candidate_name

    @property
    def names(self) -> dict[str, str]:
        """Return both names, to be filled into sentences."""
        return {"original": self.original, "candidate": self.candidate}

    @property
    def state_words(self) -> str:
        """Return the state for people."""
        if not self.is_open:
            return _(str(ShadowOutcome(self.test.outcome).label))
        return _("Being stopped") if self.test.is_stopped else _("Running")

    @property
    def badge(self) -> str:
        """Return the state by which a badge is coloured."""
        if self.is_open:
            return "running"
        return BADGES.get(ShadowOutcome(self.test.outcome), "failed")

    @property
    def percent(self) -> int:
        """Return the share of the runs that were to be mirrored."""
        return min(100 * self.mirrored // self.settings.max_runs, 100)

    @property
    def started_by(self) -> str:
        """Return the name of the person or key that started it."""
        return str(self.test.requested_by.get("display", ""))


@dataclass(frozen=True, slots=True)
class SideRow:
    """One side of a test in the table of figures."""

    name: str
    is_candidate: bool
    figures: SideFigures
    compared: int

    @property
    def cost_micros(self) -> int:
        """Return the cost of 1,000 runs."""
        return self.figures.cost_micros * PER_RUNS // max(self.compared, 1)

    @property
    def tokens(self) -> int:
        """Return the tokens of one run."""
        return self.figures.tokens // max(self.compared, 1)


@dataclass(frozen=True, slots=True)
class PairRow:
    """An original run beside its mirror, with what people think of both."""

    pair: MirroredRun
    original: RunOpinions
    candidate: RunOpinions

    @property
    def words(self) -> str:
        """Return how the two compare."""
        pair = self.pair
        if pair.state == MirrorState.SKIPPED:
            return _("Left out")
        if pair.state != MirrorState.DONE:
            return _(str(MirrorState(pair.state).label))
        if pair.original_error or pair.error:
            return self._failed
        if pair.agrees:
            return _("Same final answer")
        if pair.judgement:
            return _(str(Judgement(pair.judgement).label))
        return _("Different final answers")

    @property
    def errors(self) -> str:
        """Return what failed."""
        found = (self.pair.original_error, self.pair.error)
        return ", ".join(dict.fromkeys(fault_word(code) for code in found if code))

    @property
    def _failed(self) -> str:
        if self.pair.original_error and self.pair.error:
            return _("Both failed")
        if self.pair.original_error:
            return _("The original run failed")
        return _("The candidate failed")

    @property
    def badge(self) -> str:
        """Return the state by which its badge is coloured."""
        pair = self.pair
        if pair.state != MirrorState.DONE:
            return "cancelled" if pair.state == MirrorState.SKIPPED else "running"
        if pair.error or pair.judgement == Judgement.ORIGINAL:
            return "failed"
        return "completed" if pair.agrees or pair.judgement else "cancelled"


def shadow_row(test: ShadowTest, mirrored: int) -> ShadowRow:
    """Return a test as lists show it."""
    return ShadowRow(test, ShadowSettings.model_validate(test.settings), mirrored)


def pair_rows(test: ShadowTest, most: int) -> list[PairRow]:
    """Return the newest pairs of a test."""
    pairs = pairs_with_opinions(test.team_id, list(mirrored_of(test)[:most]))
    return [PairRow(each.pair, each.original, each.candidate) for each in pairs]


def report_context(row: ShadowRow, report: ShadowReport) -> dict[str, Any]:
    """Return what the page of a test shows of its figures."""
    return {
        "report": report,
        "sides": [
            SideRow(row.original, False, report.original, report.compared),
            SideRow(row.candidate, True, report.candidate, report.compared),
        ],
        "judgements": [
            (_(Judgement(name).label), count)
            for name, count in report.judgements.items()
            if count
        ],
        "cost_limit": row.settings.max_cost_micros,
    }
