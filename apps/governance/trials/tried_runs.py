"""Tries rules on recorded runs: which of them they would have stopped or changed.

Reads only, a few runs at a time. Roles, tags and prices are those of the present; hours
are those of the run. Rules in shadow mode count as if they were enforced.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
from apps.governance.policies.run_texts import order_texts
from apps.governance.sensitive_data.classification import Classification, classify
from apps.governance.trials.models import TriedOutcome
from apps.pools.selectors import pool_snapshot
from apps.runs.models import Run
from apps.runs.planning.cost_estimates import plan_price
from apps.runs.planning.model_resolver import ResolvedModel, parse_model, resolve
from apps.runs.selectors import newest_runs_recorded, order_of

MAX_REASONS = 20
"""Rules that are kept as reasons for one run; a policy may have 100."""
MAX_REASON_LENGTH = 300
ERASED, MODEL_GONE = "its prompt is erased", "its model is not there any more"
Reasons = list[tuple[str, str]]
"""Names of rules, and what they say."""


@dataclass(frozen=True, slots=True)
class TriedRun:
    """What rules would have done to one run."""

    run_id: uuid.UUID
    outcome: TriedOutcome | None
    """None: they would have let it pass as it did."""
    reasons: Reasons
    """Empty for a run that passes. The name is empty if no rule is the reason."""


def runs_tried(
    team_id: uuid.UUID,
    document: PolicyDocument,
    *,
    limit: int,
    before: uuid.UUID | None,
) -> Iterator[list[TriedRun]]:
    """Try rules on the newest `limit` runs of a team; yield a few runs at a time.

    `before`: only runs that are older than the run with this id.
    """
    enforced = _enforced(document)
    roles = roles_of(team_id)
    resolver = _Resolver(team_id)
    for some in newest_runs_recorded(team_id, limit, before=before):
        yield [_tried(run, events, enforced, roles, resolver) for run, events in some]


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
        why = MODEL_GONE if resolved is None else ERASED
        return TriedRun(run.id, TriedOutcome.UNKNOWN, [("", why)])
    is_by_key = run.api_key_id is not None or run.user_id is None
    facts = RunFacts(
        role=API_KEY_ROLE if is_by_key else roles.get(run.user_id or run.id, ""),
        member_id=run.user_id,
        key_id=run.api_key_id,
        tier=created.tier,
        source=run.source,
        texts=order_texts(order_of(run, created)),
        worker_tags={w.name: w.tags for w in resolved.pool.workers},
        classification=_classified(run, created, document),
        kinds=document.kinds,
    )
    outcome, reasons = _outcome(run, events, document, facts, resolved, created.prompt)
    return TriedRun(run.id, outcome, reasons)


def _classified(
    run: Run, created: ev.RunCreated, document: PolicyDocument
) -> Classification | None:
    if not document.needs_classes:
        return None
    order = order_of(run, created)
    found = classify(order_texts(order), stated_classes(order), document.patterns)
    return with_redacted(found, order)


def _outcome(
    run: Run,
    events: Sequence[ev.Event],
    document: PolicyDocument,
    facts: RunFacts,
    resolved: ResolvedModel,
    prompt: str,
) -> tuple[TriedOutcome | None, Reasons]:
    """Return what the rules would have done, at the first plan that they stop."""
    plans = [e for e in events if isinstance(e, ev.PlanAccepted)]
    held: Reasons = []
    changed: Reasons = []
    for plan in (None, *plans):
        planned = None if plan is None else _facts_of(plan, resolved, prompt)
        found = evaluate(document, facts, planned, run.created_at)
        reasons = _reasons(found)
        if found.is_denied or found.refused_workers >= set(facts.worker_tags):
            return TriedOutcome.DENIED, reasons
        if plan is not None and found.approvals_needed:
            held = held or reasons
        if _changes(found, facts, plans, run):
            changed = changed or reasons
    if held:
        return TriedOutcome.HELD, held
    return (TriedOutcome.CHANGED, changed) if changed else (None, [])


def _reasons(found: PolicyOutcome) -> Reasons:
    # A rule that allows comes last and is no reason, so it has no partner.
    pairs = zip(found.rules, found.reasons, strict=False)
    return [(rule, why[:MAX_REASON_LENGTH]) for rule, why in pairs][:MAX_REASONS]


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
