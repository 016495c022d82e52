"""Keeps the last turn's plan in a conversation, unless another is worth what it costs.

Providers read the beginning of a conversation that they have seen lately from a cache,
at a lower price. Another worker has to read all of it anew. So a plan is compared with
that of the turn before, in money:

    gain = (success of the new plan - success of the last one) * what success is worth
    lost = cost of the new plan - cost of the last one, each less what its cache saves

The last plan is kept if the gain is at most what is lost. What success is worth, the
light planner knows; to conductors it is `ANSWERS` of the dearest worker's answers. A
cache saves the tokens that both turns begin with, at the difference between the prices
of input and of cached input. Where nobody can say how well a plan does, the choice of
the conductor counts as a gain of `CONDUCTOR_GAIN`, and its cost is its own affair: lost
is at most what the cache saves. Pure.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import Ask, Planner, PlanRequest, Pool, PoolWorker
from apps.engine.suitability import unsuited
from apps.engine.usage import Price, Usage
from apps.planners.answer_worth import worth_by_answers

WARM_S = 600.0
"""For so long after a turn its provider likely still has it in a cache."""
LEAST_CACHED_TOKENS = 1024
"""Providers keep no shorter beginnings."""
CONDUCTOR_GAIN = 0.02
"""Success that a conductor expects of the worker that it names, beyond the last one."""
ANSWER_TOKENS = 300
"""The tokens of an answer whose length nobody can estimate."""
CHARACTERS_PER_TOKEN = 4
MILLION = 1_000_000
KEPT, CHANGED = "kept", "changed"


@dataclass(frozen=True, slots=True)
class LastTurn:
    """What answered the turn before, and what of it a cache may hold."""

    steps: tuple[PlannedStep, ...]
    """With the workers that really answered. Subtasks of a conductor are empty."""
    shared_tokens: int
    """The tokens of the beginning that both turns have."""
    age_s: float
    """How long ago the last turn ended."""
    is_direct: bool = False
    """True: its only worker got the conversation itself, with nothing around it."""
    resting: frozenset[str] = frozenset()
    """Workers that are not called at the moment, because they kept failing."""

    @property
    def workers(self) -> tuple[str, ...]:
        """Return the worker of each step."""
        return tuple(step.worker for step in self.steps)

    @property
    def cached_tokens(self) -> int:
        """Return the tokens that a cache likely holds."""
        is_cached = self.age_s <= WARM_S and self.shared_tokens >= LEAST_CACHED_TOKENS
        return self.shared_tokens if is_cached else 0


class Appraisal(NamedTuple):
    """What is expected of a plan."""

    success: float | None
    """0 to 1. None: nobody can say."""
    cost_micros: float
    """Without any cache."""


class Appraised(NamedTuple):
    """What is expected of two plans, and what success is worth."""

    last: Appraisal
    new: Appraisal
    worth_micros: float
    """The worth of an answer that is surely right."""


class StickinessDecision(NamedTuple):
    """The comparison of two plans, in micro-dollars."""

    is_kept: bool
    gain_micros: float
    lost_micros: float


class Appraiser(ABC):
    """A planner that can say what it expects of plans, also of those it didn't make.

    Not a protocol: `isinstance` of one takes microseconds, in every request.
    """

    __slots__ = ()

    @abstractmethod
    async def appraise(
        self, request: PlanRequest, last: Plan, new: Plan
    ) -> Appraised | None:
        """Return what is expected of two plans; None: it knows too little of one."""


def decide(
    appraised: Appraised, last_saves: float, new_saves: float
) -> StickinessDecision:
    """Return whether the last plan is kept; `…_saves`: by the cache of each plan."""
    last, new, worth = appraised
    lost = (new.cost_micros - new_saves) - (last.cost_micros - last_saves)
    if last.success is None or new.success is None:
        gain = CONDUCTOR_GAIN * worth
        lost = min(lost, last_saves)
    else:
        more = new.success - last.success
        gain = more * worth if more else 0.0
    return StickinessDecision(gain <= lost, gain, lost)


def cache_saves(plan: Plan, last: LastTurn, pool: Pool) -> float:
    """Return what caches save of a plan, in micro-dollars.

    A step finds the cache of the last turn's step in its place, if its worker is the
    same.
    """
    saved = 0
    for step, before in zip(plan.steps, last.steps, strict=False):
        price = pool.worker(step.worker).price
        if step.worker == before.worker and price is not None:
            saved += last.cached_tokens * _discount(price)
    return saved / MILLION


def _discount(price: Price) -> int:
    cached = price.cached_input_micros
    return 0 if cached is None else max(0, price.input_micros - cached)


@dataclass(frozen=True, slots=True)
class StickyPlanner:
    """Asks a planner, and keeps the last turn's plan where that is worth more."""

    inner: Planner
    last: LastTurn

    @property
    def name(self) -> str:
        """Return what plans are recorded under."""
        return self.inner.name

    async def plan(self, request: PlanRequest, ask: Ask) -> Plan | None:
        """Return the planner's plan, or the last turn's; the first of a run alone."""
        plan = await self.inner.plan(request, ask)
        if plan is None or request.rounds or request.rejections or request.may_keep:
            return plan
        return await self._decided(request, plan)

    async def _decided(self, request: PlanRequest, new: Plan) -> Plan:
        names = _named(self.last.workers)
        if self._is_same(new, request):
            return _kept(new, f"{names} is the choice of this turn too")
        if any(step.worker not in request.pool.names for step in new.steps):
            return new  # it will be refused, and asked for again
        if why := self._out(request):
            return _changed(new, why)
        old = self._last_plan(request, new)
        if old is None:
            return _changed(new, "this question got a plan of other steps")
        if await request.preview(old) != "accepted":
            return _changed(new, f"a policy stands against {names}")
        appraised = await self._appraised(request, old, new)
        if appraised is None:
            return _changed(new, f"the price of {names}, or of its rival, is unknown")
        decision = decide(
            appraised,
            cache_saves(old, self.last, request.pool),
            cache_saves(new, self.last, request.pool),
        )
        why = _in_words(decision, appraised, self.last, _named(_workers(new)))
        if not decision.is_kept:
            return _changed(new, why)
        if new.explanation:  # it is of another plan
            old = replace(old, reasoning="", explanation="")
        return _kept(old, why)

    def _is_same(self, new: Plan, request: PlanRequest) -> bool:
        """Return whether a plan has the last one's workers, and sends them as much.

        What goes out with something around it has another beginning.
        """
        is_direct = len(new.steps) == 1 and new.steps[0].subtask == request.task.prompt
        is_like = len(new.steps) > 1 or is_direct == self.last.is_direct
        return _workers(new) == self.last.workers and is_like

    def _out(self, request: PlanRequest) -> str:
        """Return why the last turn's workers cannot go on; empty: they can."""
        pool, final = request.pool, len(self.last.steps) - 1
        for index, step in enumerate(self.last.steps):
            if step.worker not in pool.names:
                return f"{step.worker} may not be used, or is not in the pool any more"
            if step.worker in self.last.resting:
                return f"{step.worker} kept failing and is not called at the moment"
            worker = pool.worker(step.worker)
            if reason := unsuited(request.task, worker, is_last=index == final):
                return f"{step.worker} {reason}"
        return ""

    def _last_plan(self, request: PlanRequest, new: Plan) -> Plan | None:
        """Return what the last plan comes to in this turn; None: nothing sensible.

        Subtasks that a conductor wrote are those of another question: of its plans of
        one step only the worker is kept.
        """
        steps = self.last.steps
        if len(steps) > request.max_steps:
            return None
        if self.last.is_direct:
            only = replace(steps[0], subtask=request.task.prompt)
            return Plan((only,), new.reasoning, new.explanation, new.made_by)
        if len(steps) == len(new.steps) == 1:
            only = replace(new.steps[0], worker=steps[0].worker)
            return replace(new, steps=(only,), plans_rest=False)
        if all(step.subtask for step in steps):
            return replace(new, steps=steps, plans_rest=False)
        return None

    async def _appraised(
        self, request: PlanRequest, old: Plan, new: Plan
    ) -> Appraised | None:
        if isinstance(self.inner, Appraiser):
            found = await self.inner.appraise(request, old, new)
            if found is not None:
                return found
        if len(old.steps) != 1 or len(new.steps) != 1:
            return None
        read = len(request.task.prompt) // CHARACTERS_PER_TOKEN + 1
        costs = {each.name: _cost(each, read) for each in request.pool.workers}
        before, after = costs[old.steps[0].worker], costs[new.steps[0].worker]
        if before is None or after is None:
            return None
        dearest = max(cost for cost in costs.values() if cost is not None)
        worth = worth_by_answers(dearest)
        return Appraised(Appraisal(None, before), Appraisal(None, after), worth)


def _cost(worker: PoolWorker, read: int) -> int | None:
    if worker.price is None:
        return None
    written = min(ANSWER_TOKENS, worker.max_output_tokens)
    return worker.price.cost_micros(Usage(read, written))


def _workers(plan: Plan) -> tuple[str, ...]:
    return tuple(step.worker for step in plan.steps)


def _named(workers: Sequence[str]) -> str:
    return " → ".join(workers)


def kept_for_tools(plan: Plan, worker: str) -> Plan:
    """Return a plan that goes on with the worker that asked for tools."""
    return _kept(plan, f"{worker} asked for the tools whose results came")


def _kept(plan: Plan, why: str) -> Plan:
    return replace(plan, stickiness=KEPT, stickiness_reason=why)


def _changed(plan: Plan, why: str) -> Plan:
    return replace(plan, stickiness=CHANGED, stickiness_reason=why)


def _in_words(
    decision: StickinessDecision, appraised: Appraised, last: LastTurn, rival: str
) -> str:
    """Return why a plan was kept or changed, with the figures."""
    before, after, _ = appraised
    names = _named(last.workers)
    if before.success is None or after.success is None:
        expected = f"the conductor's choice of {rival} counts as a gain"
    else:
        expected = (
            f"{rival} is expected to be right {after.success:.0%} of the time and "
            f"{names} {before.success:.0%}, a gain"
        )
    cache = f"with {last.cached_tokens} tokens of {names} in a cache"
    if not last.cached_tokens:
        cache = f"with nothing of {names} in a cache"
    gain, lost = _dollars(decision.gain_micros), _dollars(decision.lost_micros)
    return f"{expected} worth {gain}, and {cache} a change costs {lost}"


def _dollars(micros: float) -> str:
    if math.isinf(micros):
        return "more than any cost"
    sign = "-" if micros < 0 else ""
    return f"{sign}${abs(micros) / MILLION:.6f}"
