"""Short ways to the values that planners take and give."""

from __future__ import annotations

from apps.engine.errors import PlanFault, PlanRejected
from apps.engine.plan import Plan, PlannedStep
from apps.engine.ports import (
    CallParams,
    ConductorReply,
    Messages,
    PlanRequest,
    Pool,
    PoolWorker,
    RoundOutcome,
    StepOutcome,
    Task,
)
from apps.planners.list_plan_parser import parse_lists

WORKERS = ("alpha", "beta", "gamma", "delta")
POOL = Pool(
    tuple(PoolWorker(name, description=f"Good at {name} things") for name in WORKERS),
    fallback="alpha",
)


def request(prompt="What is the time in Oslo?", *, pool=POOL, max_steps=5, **more):
    return PlanRequest(Task(prompt), pool, max_steps, **more)


def plan_of(*steps, reasoning=""):
    """Each step is (model number, subtask, access)."""
    return Plan(tuple(PlannedStep(s, WORKERS[m], a) for m, s, a in steps), reasoning)


def earlier_round(*steps, answer="It is noon.", failure=None):
    """A round whose steps completed, or whose last one failed."""
    plan = plan_of(*steps)
    outcomes = [
        StepOutcome(step, "completed", f"text {step.subtask}") for step in plan.steps
    ]
    if failure is not None:
        outcomes[-1] = StepOutcome(plan.steps[-1], "failed", failure)
    return RoundOutcome(plan, tuple(outcomes), "" if failure is not None else answer)


def result_of(
    text, parse=parse_lists
) -> list[tuple[int, str, tuple[int, ...]]] | PlanFault:
    """Return what a reply means: steps as (model, subtask, access), or the fault."""
    try:
        plan = parse(text, WORKERS)
    except PlanRejected as exc:
        return exc.fault
    steps = plan.steps if plan else ()
    return [(WORKERS.index(s.worker), s.subtask, s.access) for s in steps]


def read(text) -> Plan:
    """Return the plan in three lists that are known to hold one."""
    plan = parse_lists(text, WORKERS)
    assert plan is not None
    return plan


class Conductor:
    """A scripted conductor model that remembers what it was asked."""

    def __init__(self, text: str, finish_reason: str = "stop") -> None:
        self.reply = ConductorReply(text, finish_reason)
        self.calls: list[tuple[Messages, CallParams]] = []

    async def ask(self, messages: Messages, params: CallParams) -> ConductorReply:
        self.calls.append((messages, params))
        return self.reply


async def unasked(messages: Messages, params: CallParams) -> ConductorReply:
    raise AssertionError("this planner asks no model")
