"""What people think of runs: their ratings, and the verdicts of reviewers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.governance.models import (
    Rating,
    ReviewItem,
    ReviewState,
    RunFeedback,
    Verdict,
)

RIGHT_FROM = 500
"""Thousandths of a score from which an answer counts as right."""
RUNS_AT_ONCE = 500
"""Ids in one query."""


@dataclass(frozen=True, slots=True)
class RunOpinions:
    """What people think of one run."""

    up: int = 0
    """Ratings of its answer as good."""
    down: int = 0
    verdict: str = ""
    """A value of `Verdict`; empty: it has not been reviewed."""
    verified: int = 0
    """Outcomes that verifiers of callers found."""
    verified_right: int = 0
    """Of these, those of a score of a half or more."""

    @property
    def verdict_label(self) -> str:
        """Return the verdict as people read it."""
        return str(Verdict(self.verdict).label) if self.verdict else ""


NO_OPINIONS = RunOpinions()
Opinions = Mapping[UUID, RunOpinions]
"""By run; a run without any is not in it."""


@dataclass(frozen=True, slots=True)
class OpinionCounts:
    """What people think of some runs."""

    up: int
    """Ratings, not runs: several people may rate one."""
    down: int
    verdicts: dict[str, int]
    """Runs by their verdict, a value of `Verdict`."""

    @property
    def reviewed(self) -> int:
        """Return the runs that have a verdict."""
        return sum(self.verdicts.values())


def opinions_of(team_id: UUID, run_ids: Collection[UUID]) -> Opinions:
    """Return what people think of some runs of a team."""
    ratings: dict[UUID, Counter[str]] = defaultdict(Counter)
    outcomes: dict[UUID, list[bool]] = defaultdict(list)
    verdicts: dict[UUID, str] = {}
    for some in _parts(list(run_ids)):
        rows = RunFeedback.objects.for_team(team_id).filter(run_id__in=some)
        columns = ("run_id", "rating", "outcome_thousandths")
        for run_id, rating, thousandths in rows.values_list(*columns):
            ratings[run_id][rating] += 1
            if thousandths is not None:
                outcomes[run_id].append(thousandths >= RIGHT_FROM)
        items = ReviewItem.objects.for_team(team_id).filter(
            run_id__in=some, state=ReviewState.REVIEWED
        )
        verdicts |= dict(items.values_list("run_id", "verdict"))
    return {
        run_id: RunOpinions(
            ratings[run_id][Rating.UP],
            ratings[run_id][Rating.DOWN],
            verdicts.get(run_id, ""),
            len(outcomes[run_id]),
            sum(outcomes[run_id]),
        )
        for run_id in {*ratings, *verdicts}
    }


def opinions_counted(opinions: Opinions, run_ids: Iterable[UUID]) -> OpinionCounts:
    """Return the sums of what people think of some of the runs."""
    found = [opinions.get(run_id, NO_OPINIONS) for run_id in run_ids]
    verdicts = Counter(each.verdict for each in found)
    return OpinionCounts(
        sum(each.up for each in found),
        sum(each.down for each in found),
        {str(each): verdicts[each] for each in Verdict},
    )


def _parts(run_ids: Sequence[UUID]) -> Iterable[Sequence[UUID]]:
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        yield run_ids[start : start + RUNS_AT_ONCE]
