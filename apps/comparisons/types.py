"""Values of comparisons that are no rows."""

from __future__ import annotations

from dataclasses import dataclass

from apps.comparisons.models import (
    ComparedAnswer,
    Comparison,
    ComparisonJudgement,
    ComparisonVote,
)
from apps.runs.models import Run


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """A column of a comparison with the run that fills it."""

    answer: ComparedAnswer
    run: Run


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """A comparison as one person or API key may see it."""

    comparison: Comparison
    answers: tuple[AnswerRun, ...]
    """From left to right."""
    is_revealed: bool
    """False: what made the answers is hidden, and so are votes and judgements."""
    own_vote: ComparisonVote | None
    votes: tuple[ComparisonVote, ...]
    """All of them; empty while it is not revealed."""
    judgement: ComparisonJudgement | None
    """The newest one; None while it is not revealed."""

    @property
    def is_over(self) -> bool:
        """Say whether every run has ended."""
        return all(each.run.is_over for each in self.answers)

    @property
    def preferred(self) -> int | None:
        """Return the position of the better answer.

        The one that most votes name; without such votes, the judge's. None: neither
        says so, or two have as many votes.
        """
        named = [v.position for v in self.votes if v.position is not None]
        if named:
            return _most_frequent(named)
        if self.votes or self.judgement is None:
            return None
        return self.judgement.position


@dataclass(frozen=True, slots=True)
class CandidateVotes:
    """How a candidate fared in the votes of a team."""

    model: str
    votes: int
    """On comparisons that it took part in."""
    preferred: int
    """Of these, those that named its answer the better one."""
    blind: int
    """Of these, those on blind comparisons."""


def _most_frequent(positions: list[int]) -> int | None:
    counts = sorted({(positions.count(each), each) for each in positions})
    if len(counts) > 1 and counts[-1][0] == counts[-2][0]:
        return None
    return counts[-1][1]
