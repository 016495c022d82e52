"""Reads of runs for a given team; `access_run` is the way from an id to a row."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import Case, Exists, OuterRef, QuerySet, Value, When
from django.utils import timezone

from apps.core.errors import NotFound
from apps.core.percentiles import percentile
from apps.engine import events as ev
from apps.engine.limits import Limits
from apps.engine.meter import Meter
from apps.engine.ports import CallParams, Messages, RoundOutcome
from apps.engine.replay import replay
from apps.pools.models import Worker
from apps.pools.selectors import pool_snapshot, worker_health
from apps.pools.types import WorkerHealth
from apps.runs.coordination.leases import has_process, is_leader
from apps.runs.coordination.suspensions import (
    suspension_list,
    suspension_of,
    suspension_of_site,
)
from apps.runs.execution.executor import is_resting
from apps.runs.labels import label_read, labels_named, labels_of, with_labels
from apps.runs.missing_plan import TIER_PLANNERS
from apps.runs.models import PlanApproval, Run, RunState, Step
from apps.runs.planning.cost_estimates import price_range
from apps.runs.planning.families import family_names
from apps.runs.planning.model_resolver import parse_model, resolve
from apps.runs.planning.restrictions import restrict_limits
from apps.runs.records.end_facts import EndFacts, end_facts
from apps.runs.records.history import (
    event_of,
    events_in,
    read_entries,
    run_entries,
    run_events,
)
from apps.runs.records.plan_shapes import shape_of
from apps.runs.records.recent import call_outcomes, run_outcomes
from apps.runs.records.run_params import (
    order_of,
    params_of,
    prompt_confines,
    stated_classes_in,
)
from apps.runs.records.run_view import RunView, fold
from apps.runs.records.search import (
    SEARCHED,
    SORTED,
    RunFlag,
    RunSort,
    run_list,
    runs_sorted,
    runs_sought,
)
from apps.runs.search.matching import RunSearch, SearchGap, run_search
from apps.runs.search.matching_line import MatchingLine, matching_line
from apps.runs.search.run_texts import texts_of_runs
from apps.runs.search.words import query_read
from apps.runs.types import (
    UNRESTRICTED,
    Estimate,
    RunRecord,
    RunRestrictions,
    UsageGroup,
    UsageRow,
    WorkerCalls,
)
from apps.runs.usage.report import runs_between, start_of, usage_rows

__all__ = [
    "SEARCHED",
    "SORTED",
    "MatchingLine",
    "RunFlag",
    "RunSearch",
    "RunSort",
    "SearchGap",
    "access_run",
    "asking_worker",
    "call_outcomes",
    "end_facts_recorded",
    "event_of",
    "events_in",
    "family_names",
    "has_planned_answer",
    "has_process",
    "is_leader",
    "label_read",
    "labels_named",
    "labels_of",
    "matching_line",
    "newest_runs_recorded",
    "order_of",
    "prompt_confines",
    "query_read",
    "record_of",
    "run_entries",
    "run_estimate",
    "run_events",
    "run_is_over",
    "run_list",
    "run_outcomes",
    "run_record",
    "run_search",
    "run_view",
    "run_views",
    "runs_between",
    "runs_sorted",
    "runs_sought",
    "shape_of",
    "start_of",
    "suspension_list",
    "suspension_of",
    "suspension_of_site",
    "texts_of_runs",
    "usage_by",
    "usual_times",
    "with_labels",
    "worker_calls",
    "worker_healths",
]
PAST_RUNS = 200
"""The latest runs of a model that an estimate looks at."""
ENOUGH_PAST_RUNS = 5
"""With fewer an estimate rests on prices."""
WATCHED = timedelta(days=1)
"""How far back a worker's health looks."""
TOOL_CALLS = "tool_calls"
"""How an answer ends that wants tools called."""
RUNS_AT_ONCE = 25
"""Runs whose entries are read together."""
WATCHED_RUNS = 1_000
"""The latest runs whose steps say how workers fare; bounds the reading."""
NO_CALLS = WorkerCalls(0, 0, None)


def access_run(*, team_id: uuid.UUID, run_id: uuid.UUID) -> Run:
    """Return a run of the team. Raises: NotFound for any other one."""
    try:
        return Run.objects.for_team(team_id).get(id=run_id)
    except Run.DoesNotExist:
        raise NotFound(
            f"there is no run {str(run_id)!r} in this team; it may belong to another "
            "of your teams"
        ) from None


def has_planned_answer(team_id: uuid.UUID) -> bool:
    """Say whether any answer of a team came of a plan that its tier made."""
    runs = Run.objects.for_team(team_id).filter(planner__in=TIER_PLANNERS)
    return runs.filter(state=RunState.COMPLETED).exists()


def with_waits(team_id: uuid.UUID, runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return runs of a team that know in `waits_for` what they wait for."""
    open_approvals = PlanApproval.objects.for_team(team_id).filter(
        run_id=OuterRef("id"), settled_at=None
    )
    waits = When(Exists(open_approvals), then=Value("approval"))
    # The model has the attribute too, so that every run has it.
    return runs.annotate(waits_for=Case(waits, default=None))  # type: ignore[no-redef]


def newest_runs_recorded(
    team_id: uuid.UUID, limit: int, *, before: uuid.UUID | None = None
) -> Iterator[list[tuple[Run, list[ev.Event]]]]:
    """Yield a team's newest runs with their events, a few runs at a time.

    `before`: only runs that are older than the run with this id.
    """
    runs = Run.objects.for_team(team_id).order_by("-id")
    while limit > 0:
        older = runs if before is None else runs.filter(id__lt=before)
        some = list(older[: min(limit, RUNS_AT_ONCE)])
        if not some:
            return
        entries = read_entries(some)
        yield [
            (run, [each.event for each in events_in(entries[run.id])]) for run in some
        ]
        limit, before = limit - len(some), some[-1].id


def run_views(
    team_id: uuid.UUID, run_ids: Sequence[uuid.UUID]
) -> Iterator[tuple[uuid.UUID, RunView]]:
    """Yield the read models of those of some runs of a team that are on record.

    A few runs are read at a time.
    """
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        some = run_ids[start : start + RUNS_AT_ONCE]
        runs = list(Run.objects.for_team(team_id).filter(id__in=some))
        for run_id, entries in read_entries(runs).items():
            yield run_id, fold(events_in(entries))


def run_is_over(team_id: uuid.UUID, run_id: uuid.UUID) -> bool:
    """Say whether a run of the team has ended; its record would tell, but for more.

    Raises: NotFound.
    """
    found = Run.objects.for_team(team_id).filter(id=run_id)
    for finished_at in found.values_list("finished_at", flat=True):
        return finished_at is not None
    raise NotFound(f"there is no run {str(run_id)!r} in this team")


def run_states(
    team_id: uuid.UUID, run_ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, str]:
    """Return the states of those of some runs of the team that are on record.

    A run whose end has been recorded is never `running`.
    """
    runs = Run.objects.for_team(team_id).filter(id__in=run_ids)
    return dict(runs.values_list("id", "state"))


def run_record(team_id: uuid.UUID, run_id: uuid.UUID) -> RunRecord:
    """Return a run of the team as the ledger tells it. Raises: NotFound."""
    return record_of(access_run(team_id=team_id, run_id=run_id))


def record_of(run: Run) -> RunRecord:
    """Return what the ledger tells of a run. Raises: NotFound if it tells nothing."""
    entries = run_entries(run)
    recorded = events_in(entries)
    if not recorded or not isinstance(recorded[0].event, ev.RunCreated):
        raise NotFound(f"run {str(run.id)!r} has no record of what was asked")
    created = recorded[0].event
    view, params = fold(recorded), params_of(created)
    redacted = (created.redacted_class,) if created.redacted_class else ()
    return RunRecord(
        run_id=run.id,
        created_at=run.created_at,
        model=run.model,
        # The row may be older than the entries.
        state=view.state if view.is_over else run.state,
        source=run.source,
        prompt=view.prompt,
        messages=tuple(params.pop("messages", ())),
        params=params,
        context=entries[0].context,
        api_key_id=run.api_key_id,
        user_id=run.user_id,
        summary=view.summary(run.id) if view.is_over else None,
        error=view.error,
        waits_for=view.waits_for,
        stated_classes=(*stated_classes_in(params), *redacted),
    )


def run_view(run: Run) -> RunView:
    """Return the read model of a run, from its ledger entries."""
    return fold(run_events(run))


def round_outcomes(run: Run) -> tuple[RoundOutcome, ...]:
    """Return the rounds of a run as a planner sees them; erased texts are empty."""
    history = (recorded.event for recorded in run_events(run))
    return tuple(each.outcome() for each in replay(history, Meter(Limits())).rounds)


def end_facts_recorded(run: Run) -> EndFacts:
    """Return what a run would note at its end, from its ledger entries.

    Raises: ConductorError if they cannot be read.
    """
    facts = end_facts(run_view(run))
    # Of a run that broke off they may lack the end; then nothing else is known of it.
    return facts if facts["findings"] is not None else {**facts, "findings": []}


def asking_worker(team_id: uuid.UUID, run_id: uuid.UUID) -> str:
    """Return the worker whose tool calls ended a run of the team; empty if none did."""
    run = Run.objects.for_team(team_id).filter(id=run_id).first()
    if run is None:
        return ""
    for recorded in reversed(run_events(run)):
        event = recorded.event
        if isinstance(event, ev.StepCompleted) and _asks(event):
            return event.worker
    return ""


def _asks(event: ev.StepCompleted) -> bool:
    # The calls themselves may have been erased; how the answer ended has not.
    return bool(event.tool_calls) or event.finish_reason == TOOL_CALLS


def run_estimate(
    team_id: uuid.UUID,
    model: str,
    prompt: str,
    *,
    messages: Messages = (),
    restrictions: RunRestrictions = UNRESTRICTED,
) -> Estimate:
    """Return what a run of `model` may cost, before it begins.

    From the middle nine tenths of the team's latest runs of this model, or from the
    pool's prices while there are too few. `prompt` and `messages` are those of an
    order: with everything that was said before. Raises: NotFound, InvalidInput.
    """
    snapshot = pool_snapshot(team_id, parse_model(model).pool)
    resolved = resolve(parse_model(model), model, snapshot)
    limits = restrict_limits(resolved.limits, restrictions)
    priced = price_range(
        prompt, CallParams(), replace(resolved, limits=limits), messages
    )
    past = Run.objects.for_team(team_id).filter(
        model=model, state=RunState.COMPLETED, has_unknown_cost=False
    )
    usual_ms, late_ms = usual_times(team_id, model) or (None, None)
    costs = list(past.order_by("-id").values_list("cost_micros", flat=True)[:PAST_RUNS])
    most = None if priced is None else _capped(priced.high, limits.max_cost_micros)
    if len(costs) >= ENOUGH_PAST_RUNS:
        low, high = percentile(costs, 5), percentile(costs, 95)
        # Past prompts may have been far shorter than this one.
        typical = high if priced is None else max(high, priced.low)
        typical = typical if most is None else min(typical, most)
        return Estimate(
            low, high, "past runs", len(costs), usual_ms, late_ms, typical, most
        )
    if priced is None or most is None:
        return Estimate(0, 0, "unknown", 0, usual_ms, late_ms)
    typical = min(priced.typical, most)
    return Estimate(
        priced.low, priced.high, "prices", 0, usual_ms, late_ms, typical, most
    )


def usual_times(team_id: uuid.UUID, model: str) -> tuple[int, int] | None:
    """Return how long runs of a model take, in milliseconds: half of them, nine in ten.

    By the team's latest completed ones; None while there are too few.
    """
    past = Run.objects.for_team(team_id).filter(model=model, state=RunState.COMPLETED)
    latest = past.order_by("-id").values_list("latency_ms", flat=True)[:PAST_RUNS]
    times = [ms for ms in latest if ms is not None]
    if len(times) < ENOUGH_PAST_RUNS:
        return None
    return percentile(times, 50), percentile(times, 90)


def usage_by(
    team_id: uuid.UUID, group: UsageGroup, since: datetime, until: datetime
) -> list[UsageRow]:
    """Return a team's usage of runs that began from `since` to before `until`.

    Days ascend; members, keys and workers come by cost, the dearest first. The rows of
    each grouping add up to the same cost.
    """
    return usage_rows(team_id, (group,), since, until)[group]


def worker_calls(team_id: uuid.UUID, since: datetime) -> dict[str, WorkerCalls]:
    """Return how a team's workers fared in its latest runs since then, by name.

    A step counts for the worker that answered it or was asked last.
    """
    runs = Run.objects.for_team(team_id).filter(created_at__gte=since).order_by("-id")
    steps = Step.objects.for_team(team_id).filter(
        run__in=runs.values("id")[:WATCHED_RUNS], state__in=("completed", "failed")
    )
    failures: dict[str, int] = defaultdict(int)
    latencies: dict[str, list[int]] = defaultdict(list)
    for worker, state, latency_ms in steps.values_list("worker", "state", "latency_ms"):
        if state == "failed":
            failures[worker] += 1
        else:
            latencies[worker].append(latency_ms)
    return {
        name: WorkerCalls(
            len(latencies[name]) + failures[name],
            failures[name],
            percentile(latencies[name], 50) if latencies[name] else None,
        )
        for name in sorted(failures.keys() | latencies.keys())
    }


def worker_healths(
    team_id: uuid.UUID, workers: Iterable[Worker]
) -> dict[uuid.UUID, WorkerHealth]:
    """Return how these workers of a team are doing, by id."""
    seen = worker_calls(team_id, timezone.now() - WATCHED)
    health = {}
    for worker in workers:
        calls, failures, latency_ms = seen.get(worker.name, NO_CALLS)
        health[worker.id] = worker_health(
            worker,
            calls=calls,
            failures=failures,
            latency_ms=latency_ms,
            is_resting=is_resting(team_id, worker.base_url, worker.model),
        )
    return health


def _capped(micros: int, limit: int | None) -> int:
    return micros if limit is None else min(micros, limit)
