"""The demo's examples are planned as written, and answered step by step."""

from __future__ import annotations

import pytest

from apps.simulator.examples import ExampleTurn, examples
from apps.simulator.workers import WORKERS
from tests.simulator.asking import Asker, conductor_prompt, lists, worker_message

SIGNED = "*Prepared for the demo.*\n\n— simulated worker sim-delta"
DESCRIBED = tuple(worker.description for worker in WORKERS)

TURNS = [turn for each in examples() for turn in each.turns]
named = pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.prompt[:30])


@named
async def test_its_plan_is_as_written(ask: Asker, turn: ExampleTurn) -> None:
    prompt = conductor_prompt(turn.prompt, DESCRIBED)
    models, subtasks, access = lists(await ask("sim-conductor", prompt))
    assert subtasks == [step.subtask for step in turn.steps]
    assert access == [
        step.access if step.access == "all" else list(step.access)
        for step in turn.steps
    ]
    assert len(set(models)) > 1


@named
async def test_each_step_is_answered_and_says_that_it_was_prepared(
    ask: Asker, turn: ExampleTurn
) -> None:
    for step in turn.steps:
        answer = await ask("sim-delta", worker_message(turn.prompt, step.subtask))
        assert answer.startswith(step.text)
        assert answer.endswith(SIGNED)


@named
async def test_asked_directly_each_worker_gives_its_own_weaker_answer(
    ask: Asker, turn: ExampleTurn
) -> None:
    for worker in ("sim-delta", "bench-generalist-strong"):
        answer = await ask(worker, turn.prompt)
        assert answer.startswith(turn.answer_alone(worker))
        assert turn.answer_alone(worker) != turn.text


async def test_a_follow_up_is_found_behind_what_was_said(ask: Asker) -> None:
    (first, second) = next(each.turns for each in examples() if len(each.turns) == 2)
    said = f"User: {first.prompt}\n\nAssistant: {first.text}\n\nUser: {second.prompt}"
    message = worker_message(said, second.steps[0].subtask)
    assert (await ask("sim-ember", message)).startswith(second.steps[0].text)


async def test_a_plan_with_too_few_steps_for_it_is_another_one(ask: Asker) -> None:
    longest = max(TURNS, key=lambda turn: len(turn.steps))
    prompt = conductor_prompt(longest.prompt, DESCRIBED, max_steps=2)
    _, subtasks, _ = lists(await ask("sim-conductor", prompt))
    assert len(subtasks) <= 2
