"""Rows of the list of comparisons, and of the results by candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.comparisons.models import LETTERS, Comparison, ComparisonVote
from apps.comparisons.types import CandidateVotes, ComparisonView
from apps.evaluation.reports.statistics import share
from apps.playground.comparing.sheet import choice_words
from apps.runs.planning.model_resolver import direct_worker


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A comparison in the list."""

    comparison: Comparison
    title: str
    candidates: tuple[str, ...]
    """With their letters. Empty: hidden until the person votes."""
    count: int
    is_over: bool
    own: ComparisonVote | None
    votes: int | None
    """None: hidden."""
    better: str
    """Letter of the better answer; empty: none is known to be."""

    @property
    def own_words(self) -> str:
        """Return the person's own vote in words."""
        return choice_words(self.own.choice, self.own.position) if self.own else ""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """How often a candidate was preferred."""

    name: str
    votes: CandidateVotes
    percent: int
    low: int
    high: int
    """Bounds of the interval of 95 %, in percent."""


def comparison_rows(views: Sequence[ComparisonView]) -> list[ComparisonRow]:
    """Return the rows of some comparisons."""
    return [_row(view) for view in views]


def candidate_rows(counts: Sequence[CandidateVotes]) -> list[CandidateRow]:
    """Return the results by candidate, each with its interval."""
    rows = []
    for each in counts:
        found = share(each.preferred, each.votes)
        assert found is not None  # those without votes are not counted
        percents = (round(100 * v) for v in (found.value, found.low, found.high))
        name = candidate_name(each.model)
        if each.is_former:
            name = _("{name} (former)").format(name=name)
        rows.append(CandidateRow(name, each, *percents))
    return rows


def candidate_name(model: str) -> str:
    """Return a candidate as people call it."""
    return direct_worker(model) or model


def _row(view: ComparisonView) -> ComparisonRow:
    better = view.preferred if view.is_revealed else None
    return ComparisonRow(
        comparison=view.comparison,
        title=next((each.run.title for each in view.answers), ""),
        candidates=tuple(
            f"{each.answer.letter}: {candidate_name(each.answer.model)}"
            for each in view.answers
        )
        if view.is_revealed
        else (),
        count=len(view.answers),
        is_over=view.is_over,
        own=view.own_vote,
        votes=len(view.votes) if view.is_revealed else None,
        better="" if better is None else LETTERS[better],
    )
