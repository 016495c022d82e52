"""Finds out whether a model can plan: asks it for a plan as runs do, and reads that.

Prompt, parser and rules are those of runs. What is no plan is a result, not an error;
only a call that fails raises. Knows no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.engine.errors import PlanRejected
from apps.engine.plan import Plan, validate
from apps.engine.ports import (
    CallParams,
    ConductorReply,
    Messages,
    PlanRequest,
    Pool,
    PoolWorker,
    Task,
)
from apps.llm.chat import ChatClient
from apps.llm.types import ChatRequest, Endpoint
from apps.pools.capability_probes import ProbeAnswer, ask
from apps.pools.planning import conductor_planner
from apps.pools.types import ConductorSnapshot

QUESTION = "What is 17 * 23 + 4? Check it twice."
MAX_STEPS = 5
WORKERS = ("first", "second", "third")
"""For a team without workers: the plan is read and never executed."""


@dataclass(frozen=True, slots=True)
class PlanTrial:
    """What a model wrote when it was asked for a plan."""

    answer: ProbeAnswer
    plan: Plan | None
    """None: it wrote none that can be used."""
    fault: str = ""
    """A word of `PlanFault`. Empty: none."""
    message: str = ""
    """Why its answer is not a plan, for people."""


async def plan_try(
    client: ChatClient,
    endpoint: Endpoint,
    conductor: ConductorSnapshot,
    workers: Sequence[str],
) -> PlanTrial:
    """Ask a conductor for one plan, in its own format. Raises: LlmError.

    `endpoint` is the conductor's, with the patience of the caller; `workers` are names
    that the plan may use, and none is called.
    """
    names = tuple(workers) or WORKERS
    answers: list[ProbeAnswer] = []

    async def ask_model(messages: Messages, params: CallParams) -> ConductorReply:
        request = ChatRequest(
            messages=messages,
            max_tokens=params.max_tokens,
            temperature=params.temperature,
            response_format=params.response_format,
        )
        answers.append(await ask(client, endpoint, request))
        return ConductorReply(answers[-1].text, answers[-1].finish_reason)

    pool = Pool(
        tuple(PoolWorker(name) for name in names),
        names[0],
        conductor_max_output_tokens=conductor.attributes.max_output_tokens,
        conductor_context_tokens=conductor.attributes.context_tokens,
    )
    request = PlanRequest(Task(QUESTION), pool, MAX_STEPS)
    try:
        plan = await conductor_planner(conductor).plan(request, ask_model)
        assert plan is not None  # without an answer to keep it is rejected
        validate(plan, workers=names, max_steps=MAX_STEPS)
    except PlanRejected as exc:
        message = f"its answer is not a plan: {exc.message}"
        return PlanTrial(answers[-1], None, exc.fault, message)
    return PlanTrial(answers[-1], plan)
