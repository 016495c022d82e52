"""Credits judgements of real runs to the workers that answered.

Entries of the ledger say which runs were judged, or judged anew; what they come to is
read from the rows of ratings and reviews. So it may be done again at any time, and a
rating that was withdrawn is withdrawn here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Max, Sum

from apps.accounts.models import Team
from apps.audit.models import IS_ROUTINE, ChainHead, Entry
from apps.evaluation.opinions import NO_OPINIONS, Opinions, opinions_of
from apps.evaluation.production.models import OutcomeProgress, RunOutcome
from apps.governance.models import Verdict
from apps.pools.models import OutcomeSource, Worker
from apps.pools.selectors import ServedWorker, served_workers
from apps.pools.worker_figures.outcomes import CountedOutcomes, outcomes_replace
from apps.runs.models import NOT_BY_CALLERS, Run, RunState, Step

ACTIONS = (
    "feedback.recorded",
    "feedback.removed",
    "review.judged",
    "review.requeued",
)
"""Entries after which a run may be judged otherwise than before; the run is their
subject."""
ENTRIES_AT_ONCE = 100
MIN_MOVE = 10_000
"""Without news, how far a ledger has been read is noted no more often than that."""


def outcomes_count() -> Iterator[int]:
    """Credit what was judged since the last look; yield how many runs each step saw.

    Raises: DatabaseError.
    """
    progress = OutcomeProgress.objects.across_teams()
    reached = dict(progress.values_list("team_id", "seq"))
    teams = set(Team.objects.values_list("id", flat=True))
    for team_id, head in list(ChainHead.objects.values_list("team_id", "seq")):
        has_more = team_id in teams and reached.get(team_id, 0) < head
        while has_more:
            seen, has_more = _step(team_id, head)
            yield seen


@transaction.atomic
def _step(team_id: UUID, head: int) -> tuple[int, bool]:
    """Read some entries up to `head`; return how many runs, and whether more wait.

    The row of the progress is locked, so that two looks at once do no harm.
    """
    rows = OutcomeProgress.objects.for_team(team_id).select_for_update()
    progress, _ = rows.get_or_create(team_id=team_id, defaults={"seq": 0})
    entries = Entry.objects.for_team(team_id).filter(
        ~IS_ROUTINE, seq__gt=progress.seq, seq__lte=head, action__in=ACTIONS
    )
    found = list(
        entries.order_by("seq").values_list("seq", "subject_id")[:ENTRIES_AT_ONCE]
    )
    has_more = len(found) == ENTRIES_AT_ONCE
    run_ids = {subject_id for _, subject_id in found}
    if run_ids:
        _recount(team_id, run_ids)
    end = found[-1][0] if has_more else head
    if found or end - progress.seq >= MIN_MOVE:
        progress.seq = end
        progress.save(update_fields=["seq"])
    return len(run_ids), has_more


def _recount(team_id: UUID, run_ids: Collection[UUID]) -> None:
    """Make the judgements of some runs anew, and the sums of their workers."""
    stored = RunOutcome.objects.for_team(team_id).filter(run_id__in=run_ids)
    workers = set(stored.values_list("worker_id", flat=True))
    stored.delete()
    runs = list(
        Run.objects.for_team(team_id)
        .filter(id__in=run_ids, state=RunState.COMPLETED)
        .exclude(source__in=NOT_BY_CALLERS)
    )
    answering = _answering(team_id, runs)
    opinions = opinions_of(team_id, run_ids)
    fresh = [
        outcome
        for run in runs
        if run.id in answering
        for outcome in _judged(run, answering[run.id], opinions)
    ]
    RunOutcome.objects.bulk_create(fresh)
    for worker_id in workers | {outcome.worker_id for outcome in fresh}:
        outcomes_replace(team_id, worker_id, _sums(team_id, worker_id))


def _judged(
    run: Run, answering: ServedWorker, opinions: Opinions
) -> Iterator[RunOutcome]:
    found = opinions.get(run.id, NO_OPINIONS)
    counts = {
        OutcomeSource.FEEDBACK: (found.up, found.up + found.down),
        OutcomeSource.REVIEW: (
            int(found.verdict == Verdict.PASS),
            int(bool(found.verdict)),
        ),
        OutcomeSource.VERIFIER: (found.verified_right, found.verified),
    }
    for source, (right, total) in counts.items():
        if total:
            yield RunOutcome(
                team_id=run.team_id,
                run_id=run.id,
                family=run.family,
                source=source,
                right=right,
                total=total,
                worker_id=answering.worker_id,
                base_url=answering.base_url,
                model=answering.model,
            )


def _sums(team_id: UUID, worker_id: UUID) -> list[CountedOutcomes]:
    rows = RunOutcome.objects.for_team(team_id).filter(worker_id=worker_id)
    groups = rows.values("family", "source", "base_url", "model").annotate(
        rights=Sum("right"), totals=Sum("total"), latest=Max("run__created_at")
    )
    return [
        CountedOutcomes(
            group["family"],
            group["source"],
            group["base_url"],
            group["model"],
            group["rights"],
            group["totals"],
            group["latest"],
        )
        for group in groups.order_by()
    ]


def _answering(team_id: UUID, runs: Sequence[Run]) -> dict[UUID, ServedWorker]:
    """Return who gave the answers of some runs; those of whom nothing is known lack."""
    names = _last_workers(team_id, [run.id for run in runs])
    places = served_workers(
        team_id, {(run.pool_name, run.pool_version) for run in runs}
    )
    ids = Worker.objects.for_team(team_id).values_list("id", flat=True)
    present = set(ids)
    found = {}
    for run in runs:
        place = places.get((run.pool_name, run.pool_version), {})
        answering = place.get(names.get(run.id, ""))
        if answering is not None and answering.worker_id in present:
            found[run.id] = answering
    return found


def _last_workers(team_id: UUID, run_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Return the worker of each run's answer.

    It is that of the last step of the last round in which this has an answer, as in
    `RunView.answering_worker`. An answer that was taken over from another run is not
    this run's.
    """
    steps = Step.objects.for_team(team_id).filter(run_id__in=run_ids)
    rounds: dict[UUID, dict[int, Step]] = defaultdict(dict)
    for step in steps.order_by("round", "index"):
        rounds[step.run_id][step.round] = step
    found = {}
    for run_id, finals in rounds.items():
        ended = [finals[n] for n in sorted(finals, reverse=True)]
        final = next((step for step in ended if step.state == "completed"), None)
        if final is not None and final.attempts:
            found[run_id] = final.worker
    return found
