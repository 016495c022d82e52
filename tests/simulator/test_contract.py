"""The simulator against the product's own prompts: both sides must speak alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from apps.engine.context import worker_messages
from apps.engine.plan import Plan
from apps.engine.ports import (
    CallParams,
    ConductorReply,
    ImagePart,
    Message,
    Messages,
    PlanRequest,
    Pool,
    PoolWorker,
    Rejection,
    RoundOutcome,
    StepOutcome,
    Task,
)
from apps.planners.language_model import LanguageModelPlanner
from apps.simulator.workers import WORKERS
from tests.simulator.asking import CHAT, Asker

POOL = Pool(
    tuple(PoolWorker(w.name, description=w.description) for w in WORKERS), "sim-atlas"
)
SUM = "What is 17 * 23 + 4?"


class Conductor:
    """Asks a simulated conductor with the real planner."""

    def __init__(self, ask: Asker, model: str = "sim-conductor") -> None:
        self._client = ask.client
        self._model = model

    async def ask(self, messages: Messages, params: CallParams) -> ConductorReply:
        options = {
            "max_tokens": params.max_tokens,
            "response_format": params.response_format,
        }
        data = {"model": self._model, "messages": list(messages), **options}
        response = await self._client.post(CHAT, json=data)
        choice = response.json()["choices"][0]
        return ConductorReply(choice["message"]["content"], choice["finish_reason"])


@pytest.mark.parametrize("mode", ["lists", "json_schema"])
@pytest.mark.parametrize("shows_descriptions", [True, False])
@pytest.mark.parametrize(
    ("question", "steps"),
    [(SUM, 3), ("What is the capital of France?", 1), ("Write fizzbuzz code", 3)],
)
async def test_planner_reads_the_plan(
    ask: Asker,
    mode: Literal["lists", "json_schema"],
    shows_descriptions: bool,
    question: str,
    steps: int,
) -> None:
    planner = LanguageModelPlanner(mode=mode, shows_descriptions=shows_descriptions)
    request = PlanRequest(Task(question), POOL, max_steps=5)
    plan = await planner.plan(request, Conductor(ask).ask)
    assert plan is not None and len(plan.steps) == steps


async def test_one_step_limit_is_understood(ask: Asker) -> None:
    request = PlanRequest(Task(SUM), POOL, max_steps=1)
    plan = await LanguageModelPlanner().plan(request, Conductor(ask).ask)
    assert plan is not None and len(plan.steps) == 1


async def test_whole_plan_runs_to_the_right_answer(ask: Asker) -> None:
    request = PlanRequest(Task(SUM), POOL, max_steps=5)
    plan = await LanguageModelPlanner().plan(request, Conductor(ask).ask)
    assert plan is not None
    responses = await _run(ask, SUM, plan)
    assert responses[2].startswith("**395**")
    assert "| step 2 |" in responses[2]


async def test_good_answer_is_kept(ask: Asker) -> None:
    request = await _second_round(ask, state="completed", answer="**395**")
    assert await LanguageModelPlanner().plan(request, Conductor(ask).ask) is None


@pytest.mark.parametrize("mode", ["lists", "json_schema"])
async def test_failed_worker_is_avoided(
    ask: Asker, mode: Literal["lists", "json_schema"]
) -> None:
    request = await _second_round(ask, state="failed", answer="")
    failed = {o.step.worker for o in request.rounds[0].outcomes}
    plan = await LanguageModelPlanner(mode=mode).plan(request, Conductor(ask).ask)
    assert plan is not None
    assert failed.isdisjoint(step.worker for step in plan.steps)


async def test_rejection_is_understood(ask: Asker) -> None:
    rejections = (Rejection("rubbish", "no plan could be read"),)
    request = PlanRequest(Task(SUM), POOL, 5, rejections=rejections)
    conductor = Conductor(ask, "sim-conductor-once-bad")
    plan = await LanguageModelPlanner().plan(request, conductor.ask)
    assert plan is not None and len(plan.steps) == 3


async def _run(ask: Asker, question: str, plan: Plan) -> dict[int, str]:
    responses: dict[int, str] = {}
    for index, step in enumerate(plan.steps):
        messages = worker_messages(
            Task(question), plan, index, responses, PoolWorker(step.worker)
        )
        data = {"model": step.worker, "messages": list(messages)}
        body = (await ask.client.post(CHAT, json=data)).json()
        responses[index] = body["choices"][0]["message"]["content"]
    return responses


async def _second_round(
    ask: Asker, *, state: Literal["completed", "failed"], answer: str
) -> PlanRequest:
    first = PlanRequest(Task(SUM), POOL, max_steps=5)
    plan = await LanguageModelPlanner().plan(first, Conductor(ask).ask)
    assert plan is not None
    outcomes = tuple(StepOutcome(step, state, "what came") for step in plan.steps)
    rounds = (RoundOutcome(plan, outcomes, answer),)
    return PlanRequest(Task(SUM), POOL, 5, rounds=rounds, may_keep=bool(answer))


@pytest.mark.parametrize("question", [SUM, "What does get_weather say of Oslo?"])
async def test_only_those_who_can_are_planned_for(ask: Asker, question: str) -> None:
    able = ("sim-birch", "sim-flint")
    workers = tuple(
        replace(w, accepts_images=w.name in able, accepts_tools=w.name == "sim-flint")
        for w in POOL.workers
    )
    pool = replace(POOL, workers=workers, fallback="sim-flint")
    image: ImagePart = {"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}
    function = {"name": "get_weather", "parameters": {"type": "object"}}
    params = CallParams(tools=({"type": "function", "function": function},))
    conversation: Messages = (Message(role="user", content=[image]),)
    task = Task(question, params=params, messages=conversation)
    plan = await LanguageModelPlanner().plan(
        PlanRequest(task, pool, 5), Conductor(ask).ask
    )
    assert plan is not None
    assert {step.worker for step in plan.steps} <= set(able)
    assert plan.steps[-1].worker == "sim-flint"
