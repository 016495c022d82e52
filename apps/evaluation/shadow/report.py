"""What a shadow test found so far: agreement, cost, time and what people think."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from apps.evaluation.opinions import (
    NO_OPINIONS,
    OpinionCounts,
    Opinions,
    RunOpinions,
    opinions_counted,
    opinions_of,
)
from apps.evaluation.reports.statistics import Interval, median_and_p95, share
from apps.evaluation.shadow.models import (
    OPEN,
    Judgement,
    MirroredRun,
    MirrorState,
    ShadowTest,
)
from apps.evaluation.shadow.selectors import mirrored_of


@dataclass(frozen=True, slots=True)
class SideFigures:
    """One side of the pairs of which both sides have an answer."""

    failures: int
    """Of all pairs, also of those that only the other side could answer."""
    cost_micros: int
    """The known part."""
    tokens: int
    latency_ms: tuple[int, int]
    """Median and 95th percentile."""
    opinions: OpinionCounts
    """What people think of its runs."""


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """The figures of a test."""

    mirrored: int
    """Runs that it took up: all but those left out."""
    open: int
    """Of these, those in progress."""
    compared: int
    """Of these, pairs of which both sides have an answer."""
    original: SideFigures
    candidate: SideFigures
    agreement: Interval | None
    """Share of the compared pairs whose final answers are equal. None: no pairs."""
    judgements: dict[str, int]
    """How often each side was judged better, or neither; by `Judgement`."""
    not_worse: Interval | None
    """Share of the agreeing and the judged pairs in which the candidate's answer is
    as good or better. None: no model judges, or none has yet."""
    spent_micros: int
    """By the candidate and the grader, of all pairs. What is in progress counts with
    what it may cost."""
    judging_cost_micros: int
    has_unknown_cost: bool
    skipped: dict[str, int]
    """Runs that were left out, by why."""


def shadow_report(test: ShadowTest) -> ShadowReport:
    """Return what a test has found so far."""
    rows = list(mirrored_of(test))
    taken = [row for row in rows if row.state != MirrorState.SKIPPED]
    done = [row for row in taken if row.state == MirrorState.DONE]
    pairs = [row for row in done if not (row.original_error or row.error)]
    judged = Counter(str(row.judgement) for row in pairs if row.judgement)
    agreeing = sum(bool(row.agrees) for row in pairs)
    opinions = _opinions(test.team_id, pairs)
    decided = agreeing + sum(judged.values())
    as_good = decided - judged[Judgement.ORIGINAL]
    return ShadowReport(
        mirrored=len(taken),
        open=sum(row.state in OPEN for row in taken),
        compared=len(pairs),
        original=SideFigures(
            sum(bool(row.original_error) for row in done),
            sum(row.original_cost_micros for row in pairs),
            sum(row.original_tokens for row in pairs),
            median_and_p95([row.original_latency_ms for row in pairs]),
            opinions_counted(opinions, [row.original_run_id for row in pairs]),
        ),
        candidate=SideFigures(
            sum(bool(row.error) for row in done),
            sum(row.cost_micros for row in pairs),
            sum(row.tokens for row in pairs),
            median_and_p95([row.latency_ms for row in pairs]),
            opinions_counted(opinions, [row.run_id for row in pairs]),
        ),
        agreement=share(agreeing, len(pairs)),
        judgements={str(each): judged[each] for each in Judgement},
        not_worse=share(as_good, decided) if judged else None,
        spent_micros=sum(row.cost_micros + row.judging_cost_micros for row in rows),
        judging_cost_micros=sum(row.judging_cost_micros for row in rows),
        has_unknown_cost=any(row.has_unknown_cost for row in rows),
        skipped=_causes(rows),
    )


def _opinions(team_id: UUID, pairs: Iterable[MirroredRun]) -> Opinions:
    ids = [run_id for pair in pairs for run_id in (pair.original_run_id, pair.run_id)]
    return opinions_of(team_id, ids)


@dataclass(frozen=True, slots=True)
class ShadowPair:
    """An original run beside its mirror, with what people think of both."""

    pair: MirroredRun
    original: RunOpinions
    candidate: RunOpinions


def pairs_with_opinions(
    team_id: UUID, pairs: Sequence[MirroredRun]
) -> list[ShadowPair]:
    """Return some pairs of a team with what people think of their runs."""
    found = _opinions(team_id, pairs)
    return [
        ShadowPair(
            pair,
            found.get(pair.original_run_id, NO_OPINIONS),
            found.get(pair.run_id, NO_OPINIONS),
        )
        for pair in pairs
    ]


def _causes(rows: Sequence[MirroredRun]) -> dict[str, int]:
    skipped = (row.cause for row in rows if row.state == MirrorState.SKIPPED)
    return dict(Counter(skipped).most_common())
