"""What the conductor is told of images and tools, and how its prompt is cut."""

from dataclasses import replace
from typing import Any

import pytest

from apps.engine.messages import estimate_input, question_of
from apps.engine.ports import (
    CallParams,
    Message,
    Messages,
    PlanRequest,
    Pool,
    PoolWorker,
    Task,
)
from apps.planners.fixed import SingleWorkerPlanner
from apps.planners.language_model import LanguageModelPlanner
from apps.planners.plan_formats import LISTS
from apps.planners.prompt import build_messages
from tests.planners.builders import Conductor, unasked

IMAGE: Message = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this? "},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
    ],
}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "get_weather"}}
SEES = PoolWorker("sees", accepts_images=True)
BLIND = PoolWorker("blind", accepts_tools=False)
REPLY = 'model_id = [0]\nsubtasks = ["a"]\naccess_list = [[]]'


def task(*messages: Message, tools: int = 0) -> Task:
    params = CallParams(tools=(TOOL,) * tools)
    return Task(question_of(messages) or "q", params, messages=messages)


def prompt(asked: Task, *workers: PoolWorker) -> str:
    request = PlanRequest(asked, Pool(workers, workers[0].name), 5)
    content = build_messages(request, LISTS)[1]["content"]
    assert isinstance(content, str)
    return content


def test_nothing_is_said_of_abilities_that_do_not_matter():
    told = prompt(task(), SEES, BLIND)
    assert told.startswith(
        "Available models:\nModel 0\nModel 1\n\nThe user's question:\n<question>\n"
    )


def test_the_conductor_reads_of_an_image_and_gets_none():
    told = prompt(task(IMAGE), SEES)
    assert "What is this? [image 1]" in told
    assert "The question has an image, shown to every model." in told
    assert "Only" not in told and "example.org" not in told


def test_models_that_see_are_named_if_others_do_not():
    told = prompt(task(IMAGE, IMAGE), BLIND, SEES, BLIND)
    assert "has 2 images" in told
    assert "Only Model 1 can see images: the plan may use no other." in told


def test_functions_are_named_and_who_may_call_them():
    told = prompt(task(tools=1), SEES, BLIND)
    assert "functions of the user: get_weather." in told
    assert "Only Model 0 can call functions: the last step may use no other." in told


def test_if_nobody_can_the_conductor_is_not_sent_looking():
    assert "Only" not in prompt(task(tools=1), BLIND)


def test_many_functions_take_little_room():
    assert len(prompt(task(tools=2000), SEES)) < 1500


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(task(), "blind"), (task(IMAGE), "sees"), (task(tools=1), "sees")],
)
async def test_a_single_worker_gives_way_to_one_that_can(asked, expected):
    request = PlanRequest(asked, Pool((BLIND, SEES), "blind"), 5)
    plan = await SingleWorkerPlanner("blind").plan(request, unasked)
    assert plan is not None and plan.steps[0].worker == expected


# --- the cut -------------------------------------------------------------------------


def long_talk(turns: int) -> Messages:
    return tuple(
        Message(role="assistant" if n % 2 else "user", content=f"turn {n} " + "x" * 600)
        for n in range(turns)
    )


async def asked_of_conductor(messages: Messages, context: int | None) -> Messages:
    pool = replace(Pool((SEES,), "sees"), conductor_context_tokens=context)
    conductor = Conductor(REPLY)
    await LanguageModelPlanner().plan(
        PlanRequest(task(*messages), pool, 5), conductor.ask
    )
    return conductor.calls[0][0]


async def test_a_conductor_of_unknown_context_reads_everything():
    sent = await asked_of_conductor(long_talk(101), None)
    assert "turn 0 " in str(sent[1]["content"])


async def test_a_long_conversation_is_cut_to_the_conductors_context():
    sent = await asked_of_conductor(long_talk(101), 8_000)
    told = str(sent[1]["content"])
    assert "turn 0 " not in told and "turn 100 " in told
    assert "earlier messages left out]" in told
    assert estimate_input(sent) <= 7_000


async def test_a_prompt_that_no_cut_makes_fit_is_sent_whole():
    sent = await asked_of_conductor(long_talk(5), 1_000)
    assert "turn 0 " in str(sent[1]["content"])
