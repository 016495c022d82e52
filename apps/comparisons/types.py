"""Values of comparisons that are no rows."""

from __future__ import annotations

from collections import Counter
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

        The one that most votes name, ties and votes for none counted as well; without
        votes, the judge's. None: neither says so, or two outcomes have as many votes.
        """
        if self.votes:
            found = self.leading
            return found if isinstance(found, int) else None
        return None if self.judgement is None else self.judgement.position

    @property
    def leading(self) -> int | str | None:
        """Return what has more votes than anything else: a position, or a choice.

        None: there are no votes, or two outcomes have as many.
        """
        counts = Counter(
            each.choice if each.position is None else each.position
            for each in self.votes
        ).most_common(2)
        if not counts or (len(counts) == 2 and counts[0][1] == counts[1][1]):
            return None
        return counts[0][0]


@dataclass(frozen=True, slots=True)
class CandidateVotes:
    """The votes of a team on a candidate, as far as somebody may know them."""

    model: str
    votes: int
    """On comparisons that it took part in."""
    preferred: int
    """Of these, those that named its answer the better one."""
    blind: int
    """Of these, those given while the voter did not know who wrote what."""
    is_former: bool
    """True: the name stands for another candidate now, or for none."""
