"""Sums runs from their rows: what ended in a part of a period.

Reads runs in pages with their steps, so a day of any size needs no more memory than its
sums. Runs that go on are left out until they have ended.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet

from apps.core.background.pacing import give_way
from apps.insights.models import KEY_LENGTH
from apps.insights.sums import (
    Collected,
    FaultSlot,
    QuerySlot,
    QuerySums,
    ShapeSlot,
    latest,
)
from apps.runs.models import NOT_BY_CALLERS, STATES_CALLED, Run, RunState, Step
from apps.runs.selectors import runs_between, shape_of

PAGE = 100
"""Runs read at once, with their steps: a few milliseconds."""
RUN = "run"
"""The stage of the fault that a whole run ends with."""
UNKNOWN = ""
"""The key of runs without a member, key or family."""
_RUN_COLUMNS = (
    "id",
    "created_at",
    "state",
    "source",
    "model",
    "tier",
    "family",
    "planner",
    "plan",
    "prompt_tokens",
    "completion_tokens",
    "cost_micros",
    "has_unknown_cost",
    "latency_ms",
    "first_token_ms",
    "asked_tokens",
    "answer_tokens",
    "findings",
    "error_code",
    "user_id",
    "api_key_id",
)
_STEP_COLUMNS = (
    "run_id",
    "worker",
    "state",
    "prompt_tokens",
    "completion_tokens",
    "cost_micros",
    "latency_ms",
)


class EndedRun(NamedTuple):
    """The columns of a run that has ended; see `runs.models.Run`."""

    id: uuid.UUID
    created_at: datetime
    state: str
    source: str
    model: str
    tier: str
    family: str
    planner: str
    plan: list[dict[str, Any]]
    prompt_tokens: int
    completion_tokens: int
    cost_micros: int
    has_unknown_cost: bool
    latency_ms: int | None
    first_token_ms: int | None
    asked_tokens: int | None
    answer_tokens: int | None
    findings: list[dict[str, Any]] | None
    error_code: str
    user_id: uuid.UUID | None
    api_key_id: uuid.UUID | None

    @property
    def is_answered(self) -> bool:
        """Say whether it has its answer."""
        return self.state == RunState.COMPLETED

    @property
    def by_callers(self) -> bool:
        """Say whether anybody waited for its answer."""
        return self.source not in NOT_BY_CALLERS


class CalledStep(NamedTuple):
    """The columns of a step that asked its worker."""

    run_id: uuid.UUID
    worker: str
    state: str
    prompt_tokens: int
    completion_tokens: int
    cost_micros: int | None
    latency_ms: int


def collect(team_id: uuid.UUID, begin: datetime, end: datetime) -> Collected:
    """Return the sums of a team's runs that began from `begin` to before `end`."""
    runs = ended_between(team_id, begin, end).order_by("id")
    found = Collected()
    for page in _pages(runs):
        add_runs(found, page, _steps(team_id, page))
        give_way()
    return found


def collect_newest(
    team_id: uuid.UUID, begin: datetime, end: datetime, limit: int
) -> tuple[dict[date, Collected], int]:
    """Return the sums of the newest runs of a time, by day, and of how many runs.

    They are of `limit` runs at most.
    """
    runs = ended_between(team_id, begin, end).order_by("-id")
    page = [EndedRun(*row) for row in runs.values_list(*_RUN_COLUMNS)[:limit]]
    found: dict[date, Collected] = defaultdict(Collected)
    if page:
        steps = _steps(team_id, page)
        for run in page:
            day = run.created_at.astimezone(UTC).date()
            add_runs(found[day], [run], steps)
    return dict(found), len(page)


def ended_between(team_id: uuid.UUID, begin: datetime, end: datetime) -> QuerySet[Run]:
    """Return a team's runs of a time that have ended."""
    return runs_between(team_id, begin, end).exclude(state=RunState.RUNNING)


def add_runs(
    found: Collected,
    runs: Sequence[EndedRun],
    steps: Mapping[uuid.UUID, Sequence[CalledStep]],
) -> None:
    """Add runs with their steps."""
    for run in runs:
        keys = {
            "day": "",
            "tier": run.tier or run.model,
            "planner": run.planner,
            "member": run.user_id.hex if run.user_id else UNKNOWN,
            "key": run.api_key_id.hex if run.api_key_id else UNKNOWN,
            "family": run.family,
            "source": run.source,
        }
        for group, key in keys.items():
            slot = QuerySlot(group, key[:KEY_LENGTH], run.by_callers)
            _add_run(found.query(slot), run)
        _add_steps(found, run, steps.get(run.id, ()))
        _add_faults(found, run)
        _add_shape(found, run)


# --- reading -------------------------------------------------------------------------


def _pages(runs: QuerySet[Run]) -> Iterator[list[EndedRun]]:
    rows = runs.values_list(*_RUN_COLUMNS)
    page = [EndedRun(*row) for row in rows[:PAGE]]
    while page:
        yield page
        later = rows.filter(id__gt=page[-1].id)
        page = [EndedRun(*row) for row in later[:PAGE]] if len(page) == PAGE else []


def _steps(
    team_id: uuid.UUID, runs: Sequence[EndedRun]
) -> Mapping[uuid.UUID, Sequence[CalledStep]]:
    rows = Step.objects.for_team(team_id).filter(
        run_id__in=[run.id for run in runs], state__in=STATES_CALLED
    )
    found: dict[uuid.UUID, list[CalledStep]] = defaultdict(list)
    for row in rows.values_list(*_STEP_COLUMNS):
        step = CalledStep(*row)
        found[step.run_id].append(step)
    return found


# --- adding --------------------------------------------------------------------------


def _add_run(sums: QuerySums, run: EndedRun) -> None:
    sums.runs += 1
    sums.failed += run.state == RunState.FAILED
    sums.prompt_tokens += run.prompt_tokens
    sums.completion_tokens += run.completion_tokens
    sums.cost_micros += run.cost_micros
    if run.has_unknown_cost:
        sums.unknown_costs += 1
    else:
        sums.costs.add(run.cost_micros)
    if not run.is_answered:
        return
    if run.latency_ms is not None:
        sums.latencies.add(run.latency_ms)
    if run.first_token_ms is not None:
        sums.first_tokens.add(run.first_token_ms)
    is_sized = run.asked_tokens is not None and run.answer_tokens is not None
    if is_sized and not run.has_unknown_cost:
        sums.based_runs += 1
        sums.based_asked += run.asked_tokens or 0
        sums.based_answered += run.answer_tokens or 0
        sums.based_tokens += run.prompt_tokens + run.completion_tokens
        sums.based_cost_micros += run.cost_micros


def _add_steps(found: Collected, run: EndedRun, steps: Collection[CalledStep]) -> None:
    workers = set()
    for step in steps:
        sums = found.query(QuerySlot("worker", step.worker, run.by_callers))
        sums.runs += step.worker not in workers
        workers.add(step.worker)
        sums.failed += step.state == "failed"
        sums.prompt_tokens += step.prompt_tokens
        sums.completion_tokens += step.completion_tokens
        if step.cost_micros is None:
            sums.unknown_costs += 1
        else:
            sums.cost_micros += step.cost_micros
            sums.costs.add(step.cost_micros)
        if step.state == "completed":
            sums.latencies.add(step.latency_ms)
    if run.is_answered and run.first_token_ms is not None and run.plan:
        worker = str(run.plan[-1].get("worker", ""))
        if worker in workers:
            slot = QuerySlot("worker", worker, run.by_callers)
            found.query(slot).first_tokens.add(run.first_token_ms)


def _add_faults(found: Collected, run: EndedRun) -> None:
    told: dict[FaultSlot, int] = {}
    in_vain = 0
    for each in run.findings or ():
        slot = FaultSlot(each["stage"], each["fault"], each["worker"], run.by_callers)
        sums = found.fault(slot)
        sums.count += 1
        sums.cost_micros += each["cost"]
        sums.rescues[each["rescue"]] += 1
        in_vain += each["cost"]
        told[slot] = 1
    if run.error_code:
        slot = FaultSlot(RUN, run.error_code, "", run.by_callers)
        sums = found.fault(slot)
        sums.count += 1
        sums.rescues["none"] += 1
        # What its other faults cost is theirs.
        sums.cost_micros += max(run.cost_micros - in_vain, 0)
        told[slot] = 1
    for slot in told:
        sums = found.fault(slot)
        sums.runs += 1
        sums.failed += run.state == RunState.FAILED
        sums.examples = latest(sums.examples, [str(run.id)])


def _add_shape(found: Collected, run: EndedRun) -> None:
    access = [list(step.get("access", ())) for step in run.plan]
    sums = found.shape(ShapeSlot(shape_of(access).key, run.by_callers))
    sums.access = sums.access or access
    sums.runs += 1
    sums.failed += run.state == RunState.FAILED
    sums.completed += run.is_answered
    sums.cost_micros += run.cost_micros
    sums.unknown_costs += run.has_unknown_cost
    sums.tokens += run.prompt_tokens + run.completion_tokens
    if run.is_answered and run.latency_ms is not None:
        sums.latencies.add(run.latency_ms)
    sums.examples = latest(sums.examples, [str(run.id)])
