"""The gate of each run: checks it against the policies that bind its team.

On the event loop. Policies are read anew at each check (at most `CACHE_SECONDS` old),
so a run that is under way meets a rule that was added meanwhile before its next call.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from channels.db import database_sync_to_async
from django.utils import timezone

from apps.core.single_flight import SingleFlight
from apps.engine.errors import RunDenied
from apps.engine.events import ApprovalRequested, PolicyDecided
from apps.engine.gate import ApprovalOutcome, Gate
from apps.engine.messages import question_of
from apps.engine.plan import Plan
from apps.engine.ports import Messages, Task
from apps.engine.replay import plan_on_record
from apps.governance.approvals.waiting import ApprovalWaits
from apps.governance.errors import PolicyDenied
from apps.governance.policies.combination import evaluate_all, unreadable
from apps.governance.policies.evaluation import (
    PlanFacts,
    PolicyOutcome,
)
from apps.governance.policies.off_record import order_off_record
from apps.governance.policies.rules import PolicyDocument
from apps.governance.policies.run_facts import Policies, RunFactsReader, patterns_of
from apps.governance.policies.run_texts import order_texts, params_redacted
from apps.governance.selectors import policy_in_force, policy_peek
from apps.governance.sensitive_data.classification import Classification
from apps.governance.sensitive_data.redaction import Redactor
from apps.governance.types import PolicyInForce, PolicyName
from apps.runs.planning.cost_estimates import plan_price
from apps.runs.planning.model_resolver import ResolvedModel
from apps.runs.types import RunOrder

logger = logging.getLogger(__name__)
NEVER = "the plan needs an approval, and the request does not wait for one"


class PolicyGates:
    """Makes gates, and reads policies without blocking the loop."""

    def __init__(self) -> None:
        self._reads: SingleFlight[uuid.UUID | None, PolicyInForce]
        self._reads = SingleFlight(_read)
        self.waits = ApprovalWaits()

    async def admit(self, order: RunOrder, resolved: ResolvedModel) -> RunOrder:
        """Return a run's order without what its policies keep off the record.

        Raises: PolicyDenied if that cannot be done. A policy that cannot be read might
        keep anything off the record.
        """
        policies = await self.load(order.team_id)
        if doubts := [unreadable(each) for each in policies if not each.is_readable]:
            raise PolicyDenied("; ".join(doubts))
        if not any(policy.document.keeps_off_record for policy in policies):
            return order
        facts = await RunFactsReader(order, resolved).read(policies)
        return await order_off_record(order, policies, facts)

    def gate(self, run_id: uuid.UUID, order: RunOrder, resolved: ResolvedModel) -> Gate:
        """Return the gate of one run."""
        return PolicyGate(run_id, order, resolved, self)

    async def load(self, team_id: uuid.UUID) -> Policies:
        """Return the policies that bind a team, each at most `CACHE_SECONDS` old.

        The site's comes first. One that binds nothing is left out; without rules the
        team's is there if its reviews depend on the data class.
        """
        site = policy_peek(None) or await self._reads.get(None)
        team = policy_peek(team_id) or await self._reads.get(team_id)
        return tuple(policy for policy in (site, team) if policy.binds)


class PolicyGate:
    """Checks one run; see `engine.gate.Gate`."""

    def __init__(
        self,
        run_id: uuid.UUID,
        order: RunOrder,
        resolved: ResolvedModel,
        gates: PolicyGates,
    ) -> None:
        self._run_id = run_id
        self._order = order
        self._resolved = resolved
        self._gates = gates
        self._facts = RunFactsReader(order, resolved)
        self._plan: tuple[Plan, PlanFacts] | None = None
        self._last: Any = None
        """The newest decision, without its place and without approvals."""
        self._redactor = Redactor(order_texts(order))
        self._approved = ""
        """Digest of the plan that people have approved."""

    def add_texts(self, texts: Iterable[str]) -> None:
        """Judge these texts from now on too; see `engine.gate.Gate`."""
        self._facts.add_texts(texts)

    async def check_run(self) -> PolicyDecided | None:
        """Decide on the run; None if no rule binds it or nothing has changed."""
        last = self._last
        decision = await self._check("run", None)
        return None if last is not None and self._last == last else decision

    async def check_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        """Decide on a plan; None if neither site nor team has rules."""
        return await self._check("plan", plan, round=number)

    async def preview_plan(self, number: int, plan: Plan) -> PolicyDecided | None:
        """Return what `check_plan` would decide, and remember nothing of it."""
        last, planned = self._last, self._plan
        try:
            return await self.check_plan(number, plan)
        finally:
            self._last, self._plan = last, planned

    async def check_step(
        self, number: int, plan: Plan, index: int
    ) -> PolicyDecided | None:
        """Decide on a step; None if nothing differs from the decision before."""
        last = self._last
        decision = await self._check("step", plan, round=number, step=index)
        return None if self._last == last else decision

    def redact(self, task: Task, kinds: tuple[str, ...]) -> Task:
        """Return a task without sensitive data of these kinds. Raises: RunDenied."""
        redactor = self._redactor
        with self._redacting(kinds):
            messages = redactor.redact_messages(task.messages, kinds)
            prompt = redactor.redact(task.prompt, kinds)
            return replace(
                task,
                prompt=question_of(messages) if messages else prompt,
                messages=messages,
                params=params_redacted(
                    task.params, lambda text: redactor.redact(text, kinds)
                ),
            )

    def redact_messages(self, messages: Messages, kinds: tuple[str, ...]) -> Messages:
        """Return messages without sensitive data of these kinds. Raises: RunDenied."""
        with self._redacting(kinds):
            return self._redactor.redact_messages(messages, kinds)

    @contextmanager
    def _redacting(self, kinds: tuple[str, ...]) -> Iterator[None]:
        try:
            yield
        except Exception as exc:  # the boundary: what is not redacted is not sent
            logger.exception("run %s could not be redacted", self._run_id)
            raise RunDenied(
                f"{', '.join(kinds)} could not be redacted ({type(exc).__name__}): "
                f"{self._last['reason']}"
            ) from exc

    def restore(self, text: str, *, in_json: bool = False) -> str:
        """Return a text with the values in place of their placeholders."""
        return self._redactor.restore(text, in_json=in_json)

    async def await_approval(self, request: ApprovalRequested) -> ApprovalOutcome:
        """Wait until people have decided; see `governance.approvals.waiting`."""
        outcome = await self._gates.waits.outcome(self._run_id)
        approved = outcome.plan or plan_on_record(request)
        self._approved = approved.digest  # a refused one is never checked again
        return outcome

    async def _check(
        self,
        stage: str,
        plan: Plan | None,
        *,
        round: int | None = None,
        step: int | None = None,
    ) -> PolicyDecided | None:
        """Decide, or deny what cannot be decided; None if nothing binds the run."""
        policies = await self._gates.load(self._order.team_id)
        if not policies:
            return None
        try:
            return await self._decide(policies, stage, plan, round=round, step=step)
        except Exception as exc:  # the boundary: a run in doubt is denied
            logger.exception("run %s could not be checked", self._run_id)
            where = " and the ".join(policy.place for policy in policies)
            why = f"The {where} could not be checked ({type(exc).__name__})"
            doubt = PolicyOutcome(is_denied=True, reasons=[why])
            values = self._last = _values(doubt, policies, None)
            return PolicyDecided(stage, round, step, **values)

    async def _decide(
        self,
        policies: Policies,
        stage: str,
        plan: Plan | None,
        *,
        round: int | None = None,
        step: int | None = None,
    ) -> PolicyDecided:
        facts = await self._facts.read(policies)
        self._redactor.patterns = patterns_of(policies)
        planned = None if plan is None else self._plan_facts(plan)
        now = timezone.now()
        outcome = evaluate_all(policies, facts, planned, now, is_approved=True)
        values = self._last = _values(outcome, policies, facts.classification)
        is_new = stage == "plan" and plan is not None and plan.digest != self._approved
        holds_plans = any(policy.document.holds_plans for policy in policies)
        if is_new and planned is not None and holds_plans:
            outcome = evaluate_all(policies, facts, planned, now)
            values = _values(outcome, policies, facts.classification)
            if outcome.approvals_needed and not outcome.is_denied:
                values |= _approval(outcome, planned, now, self._order)
        return PolicyDecided(stage, round, step, **values)

    def _plan_facts(self, plan: Plan) -> PlanFacts:
        if self._plan is None or self._plan[0] is not plan:
            workers = tuple(step.worker for step in plan.steps)
            access = tuple(step.access for step in plan.steps)
            self._plan = plan, PlanFacts(workers, self._price(plan), access)
        return self._plan[1]

    def _price(self, plan: Plan) -> int | None:
        order, pool = self._order, self._resolved.pool
        try:
            return plan_price(plan, order.prompt, order.params, pool, order.messages)
        except Exception:  # the boundary: a rule that needs it denies
            logger.exception("the cost of a plan could not be estimated")
            return None


async def _read(team_id: uuid.UUID | None) -> PolicyInForce:
    """Return a policy; one that the database does not give counts as unreadable."""
    try:
        read: PolicyInForce = await database_sync_to_async(policy_in_force)(team_id)
    except Exception:  # the boundary: a policy that cannot be read denies by name
        name: PolicyName = "team" if team_id else "site"
        logger.exception("the %s policy cannot be read", name)
        return PolicyInForce(name, None, PolicyDocument(), is_readable=False)
    return read


def _approval(
    outcome: PolicyOutcome, plan: PlanFacts, now: datetime, order: RunOrder
) -> dict[str, Any]:
    """Return what a decision says of the approval that a plan needs."""
    if order.restrictions.approval == "never":
        reason = f"{NEVER}: {'; '.join(outcome.reasons)}"
        return {"outcome": "denied", "reason": reason}
    expires_at = now + timedelta(hours=outcome.approval_hours)
    return {
        "outcome": "approval",
        "approvals_needed": outcome.approvals_needed,
        "approval_expires_at": expires_at.isoformat(timespec="seconds"),
        "estimated_cost_micros": plan.cost_micros,
    }


def _values(
    outcome: PolicyOutcome, policies: Policies, found: Classification | None
) -> dict[str, Any]:
    """Return a decision without its place."""
    redacts = outcome.redacts & found.findings.keys() if found else set()
    is_restricted = bool(outcome.refused_workers or outcome.limits or redacts)
    return {
        "outcome": (
            "denied"
            if outcome.is_denied
            else "restricted"
            if is_restricted
            else "allowed"
        ),
        "versions": {each.name: each.version for each in policies if each.version},
        "rules": tuple(outcome.rules),
        "shadow_rules": tuple(outcome.shadow_rules),
        "refused_workers": tuple(sorted(outcome.refused_workers)),
        "limits": outcome.limits,
        "data_class": found.data_class if found else "",
        "findings": dict(found.findings) if found else None,
        "redacts": tuple(sorted(redacts)),
        "restores": bool(redacts) and outcome.restores,
        "reason": "; ".join(outcome.reasons),
    }
