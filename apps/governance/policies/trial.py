"""Tries rules on recorded runs: which of them they would have denied or changed.

Reads only. Roles, tags and prices are those of the present; hours are those of the run.
Rules in shadow mode count as if they were enforced.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.accounts.selectors import roles_of
from apps.core.errors import ConductorError
from apps.engine import events as ev
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import CallParams
from apps.governance.policies.evaluation import (
    PlanFacts,
    PolicyOutcome,
    RunFacts,
    evaluate,
)
from apps.governance.policies.rules import PolicyDocument
from apps.governance.policies.run_facts import (
    API_KEY_ROLE,
    stated_classes,
    with_redacted,
)
from apps.governance.sensitive_data.classification import Classification, classify
from apps.pools.selectors import pool_snapshot
from apps.runs.models import Run
from apps.runs.planning.cost_estimates import plan_price
from apps.runs.planning.model_resolver import ResolvedModel, parse_model, resolve
from apps.runs.selectors import newest_runs_recorded, order_of

TRIED_RUNS, MAX_TRIED_RUNS = 200, 500
"""How many runs rules are tried on, and at most."""
DENIED, HELD, CHANGED = "denied", "held", "changed"
ALLOWED, UNKNOWN = "allowed", "unknown"


@dataclass(frozen=True, slots=True)
class TriedRun:
    """What rules would have done to one run."""

    run_id: uuid.UUID
    title: str
    created_at: datetime
    outcome: str
    """denied, held for an approval, changed, allowed, or unknown if its prompt or its
    pool is gone."""
    reason: str
    """Empty for a run that is allowed."""


@dataclass(frozen=True, slots=True)
class PolicyTrial:
    """What rules would have done to the newest runs of a team."""

    runs: tuple[TriedRun, ...]

    def count(self, outcome: str) -> int:
        """Return how many runs have an outcome."""
        return sum(run.outcome == outcome for run in self.runs)

    @property
    def affected(self) -> list[TriedRun]:
        """Return the runs that would not have passed as they did."""
        return [run for run in self.runs if run.outcome != ALLOWED]


def policy_trial(
    team_id: uuid.UUID, document: PolicyDocument, *, limit: int
) -> PolicyTrial:
    """Try rules on the newest `limit` runs of a team."""
    enforced = _enforced(document)
    roles = roles_of(team_id)
    resolver = _Resolver(team_id)
    return PolicyTrial(
        tuple(
            _tried(run, events, enforced, roles, resolver)
            for run, events in newest_runs_recorded(team_id, limit)
        )
    )


def _enforced(document: PolicyDocument) -> PolicyDocument:
    rules = (
        rule.model_copy(update={"mode": "enforce"}) if rule.mode == "shadow" else rule
        for rule in document.rules
    )
    return document.model_copy(update={"rules": tuple(rules)})


class _Resolver:
    """Resolves the models of recorded runs with the pools of today, each once."""

    def __init__(self, team_id: uuid.UUID) -> None:
        self._team_id = team_id
        self._known: dict[str, ResolvedModel | None] = {}

    def resolve(self, model: str) -> ResolvedModel | None:
        """Return what a model comes to today. None: it is not there any more."""
        if model not in self._known:
            try:
                name = parse_model(model)
                snapshot = pool_snapshot(self._team_id, name.pool)
                self._known[model] = resolve(name, model, snapshot)
            except ConductorError:
                self._known[model] = None
        return self._known[model]


def _tried(
    run: Run,
    events: Sequence[ev.Event],
    document: PolicyDocument,
    roles: Mapping[uuid.UUID, str],
    resolver: _Resolver,
) -> TriedRun:
    created = next((e for e in events if isinstance(e, ev.RunCreated)), None)
    resolved = resolver.resolve(run.model)
    if created is None or not created.prompt or resolved is None:
        why = "its model is not there any more" if resolved is None else "it is erased"
        return TriedRun(run.id, run.title, run.created_at, UNKNOWN, why)
    is_by_key = run.api_key_id is not None or run.user_id is None
    facts = RunFacts(
        role=API_KEY_ROLE if is_by_key else roles.get(run.user_id or run.id, ""),
        member_id=run.user_id,
        key_id=run.api_key_id,
        tier=created.tier,
        source=run.source,
        texts=(created.prompt,),
        worker_tags={w.name: w.tags for w in resolved.pool.workers},
        classification=_classified(run, created, document),
        kinds=document.kinds,
    )
    outcome, reason = _outcome(run, events, document, facts, resolved, created.prompt)
    return TriedRun(run.id, run.title, run.created_at, outcome, reason)


def _classified(
    run: Run, created: ev.RunCreated, document: PolicyDocument
) -> Classification | None:
    if not document.needs_classes:
        return None
    order = order_of(run, created)
    found = classify((created.prompt,), stated_classes(order), document.patterns)
    return with_redacted(found, order)


def _outcome(
    run: Run,
    events: Sequence[ev.Event],
    document: PolicyDocument,
    facts: RunFacts,
    resolved: ResolvedModel,
    prompt: str,
) -> tuple[str, str]:
    """Return what the rules would have done, at the first plan that they stop."""
    plans = [e for e in events if isinstance(e, ev.PlanAccepted)]
    held = changed = ""
    for plan in (None, *plans):
        planned = None if plan is None else _facts_of(plan, resolved, prompt)
        found = evaluate(document, facts, planned, run.created_at)
        reason = "; ".join(found.reasons)
        if found.is_denied or found.refused_workers >= set(facts.worker_tags):
            return DENIED, reason
        if plan is not None and found.approvals_needed:
            held = held or reason
        if _changes(found, facts, plans, run):
            changed = changed or reason
    if held:
        return HELD, held
    return (CHANGED, changed) if changed else (ALLOWED, "")


def _facts_of(
    event: ev.PlanAccepted, resolved: ResolvedModel, prompt: str
) -> PlanFacts:
    pairs = zip(event.workers, event.access, strict=True)
    steps = tuple(PlannedStep("", worker, access) for worker, access in pairs)
    cost = plan_price(Plan(steps), prompt, CallParams(), resolved.pool)
    return PlanFacts(event.workers, cost, event.access)


def _redacts(found: PolicyOutcome, facts: RunFacts) -> bool:
    known = facts.classification
    return known is not None and not found.redacts.isdisjoint(known.findings)


def _changes(
    found: PolicyOutcome,
    facts: RunFacts,
    plans: Iterable[ev.PlanAccepted],
    run: Run,
) -> bool:
    """Say whether a run used something that the rules would have taken away."""
    used = {worker for plan in plans for worker in plan.workers}
    most_steps = max((len(plan.workers) for plan in plans), default=0)
    limits = found.limits
    return bool(
        used & found.refused_workers
        or most_steps > limits.get("max_steps", most_steps)
        or run.cost_micros > limits.get("max_cost_micros", run.cost_micros)
        or _tokens(run) > limits.get("max_tokens", _tokens(run))
        or _redacts(found, facts)
        or ("max_plan_attempts" in limits and run.planner == "language_model")
    )


def _tokens(run: Run) -> int:
    return run.prompt_tokens + run.completion_tokens
