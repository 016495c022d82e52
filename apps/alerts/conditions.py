"""Reads, for each kind of rule, which subjects meet its condition now.

Every read is bounded: by the window of the rule, by the number of a team's budgets, or
by one row. A subject that is missing is over, and its alert closes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from apps.alerts.models import NAME_LENGTH, AlertRule
from apps.alerts.types import (
    OVER_BUDGET,
    OVER_PERCENT,
    AlertKind,
    Observation,
)
from apps.audit.browsing.chain_status import chain_status
from apps.audit.selectors import entry_recorded_at
from apps.budgets.models import BudgetKind
from apps.budgets.selectors import PERIOD_WORDS, budget_list
from apps.budgets.types import BudgetStatus
from apps.governance.approvals.pending import approvals_waiting
from apps.pools.selectors import broken_promises, worker_list
from apps.runs.selectors import call_outcomes, run_outcomes

MOST_SUBJECTS = 200
"""Alerts of one kind that a look opens at most; more say nothing more."""
WHOLE = 100
HALF = 50


def observe(rule: AlertRule, now: datetime) -> dict[str, Observation]:
    """Return the subjects that meet a rule's condition, or nearly do, by subject."""
    found = _READS[AlertKind(rule.kind)](rule, now)
    kept = [each for each, _ in zip(found, range(MOST_SUBJECTS), strict=False)]
    return {each.subject: each for each in kept}


def _budgets(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    threshold = rule.threshold or 0
    for status in budget_list(rule.team_id):
        if status.resets_at is None:
            continue  # a limit for each run is refused before it is crossed
        percent = WHOLE * status.spent_micros // status.budget.limit_micros
        if percent >= threshold - OVER_BUDGET and status.spent_micros:
            yield Observation(
                subject=str(status.budget.id),
                name=_budget_name(status)[:NAME_LENGTH],
                is_due=percent >= threshold,
                is_critical=percent >= WHOLE,
                figures={"percent": percent},
            )


def _budget_name(status: BudgetStatus) -> str:
    words = PERIOD_WORDS[status.budget.period].capitalize()
    if status.budget.kind == BudgetKind.TEAM:
        return f"{words} of the team"
    return f"{words} of {status.target_label}"


def _workers(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    seen = call_outcomes(rule.team_id, now - _window(rule))
    if not any(each.failed for each in seen.values()):
        return
    for worker in worker_list(rule.team_id).filter(is_enabled=True, name__in=seen):
        outcome = seen[worker.name]
        yield from _share(
            rule, outcome.failed, outcome.calls, str(worker.id), worker.name
        )


def _runs(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    seen = run_outcomes(rule.team_id, now - _window(rule))
    yield from _share(rule, seen.failed, seen.ended)


def _plans(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    seen = run_outcomes(rule.team_id, now - _window(rule))
    yield from _share(rule, seen.unplanned, seen.ended)


def _share(
    rule: AlertRule, count: int, total: int, subject: str = "", name: str = ""
) -> Iterator[Observation]:
    """Yield a share that reaches the threshold, or has not fallen well below it."""
    threshold = rule.threshold or 0
    if not count or WHOLE * count * WHOLE < threshold * OVER_PERCENT * total:
        return
    percent = WHOLE * count // total
    is_reached = WHOLE * count >= threshold * total
    yield Observation(
        subject=subject,
        name=name[:NAME_LENGTH],
        is_due=is_reached and total >= (rule.least or 1),
        is_critical=percent >= max(threshold, HALF) and rule.kind == AlertKind.RUNS,
        figures={
            "percent": percent,
            "count": count,
            "total": total,
            "minutes": rule.window_minutes or 0,
        },
    )


def _promises(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    for promise in broken_promises(rule.team_id, now - _window(rule)):
        yield Observation(
            subject=str(promise.id),
            name=promise.worker[:NAME_LENGTH],
            is_due=True,
            figures={
                "promised": round(WHOLE * promise.promised),
                "observed": round(WHOLE * promise.observed),
                "total": round(promise.seen),
            },
        )


def _approvals(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    before = now - timedelta(minutes=rule.threshold or 0)
    late = approvals_waiting(rule.team_id).filter(requested_at__lte=before)
    for run_id, at in late.values_list("run_id", "requested_at")[:MOST_SUBJECTS]:
        yield Observation(str(run_id), "", True, figures={"minutes": _since(at, now)})


def _ledger(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    count = chain_status(rule.team_id).check.fault_count
    if count:
        yield Observation("", "", True, is_critical=True, figures={"count": count})


def _checkpoints(rule: AlertRule, now: datetime) -> Iterator[Observation]:
    status = chain_status(rule.team_id)
    first = entry_recorded_at(rule.team_id, (status.checkpoint_seq or 0) + 1)
    minutes = _since(first, now) if first else 0
    if status.lag and minutes >= (rule.threshold or 0):
        figures = {"count": status.lag, "minutes": minutes}
        yield Observation("", "", True, is_critical=True, figures=figures)


def _window(rule: AlertRule) -> timedelta:
    return timedelta(minutes=rule.window_minutes or 0)


def _since(at: datetime, now: datetime) -> int:
    return max(0, int((now - at).total_seconds() // 60))


_READS: dict[AlertKind, Callable[[AlertRule, datetime], Iterator[Observation]]] = {
    AlertKind.BUDGET: _budgets,
    AlertKind.WORKER: _workers,
    AlertKind.RUNS: _runs,
    AlertKind.PLANS: _plans,
    AlertKind.PROMISE: _promises,
    AlertKind.APPROVAL: _approvals,
    AlertKind.LEDGER: _ledger,
    AlertKind.CHECKPOINT: _checkpoints,
}
