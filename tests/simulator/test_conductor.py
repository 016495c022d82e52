"""The simulated conductor: the shape of its plans, rounds, rejections, faults."""

from __future__ import annotations

import json

import pytest

from apps.simulator.workers import WORKERS
from tests.simulator.asking import Asker, conductor_prompt, lists

DESCRIBED = tuple(worker.description for worker in WORKERS)
ATLAS, BIRCH, CEDAR, DELTA, EMBER, FLINT = range(6)
SUM = "What is 17 * 23 + 4?"
FACT = "What is the capital of France?"
CODE = "Write a Python function that returns the nth Fibonacci number"
PREVIOUS = (
    "Your previous plan, round 1:\n"
    'model_id = [2, 1]\nsubtasks = ["a", "b"]\naccess_list = [[], [0]]\n'
)


@pytest.mark.parametrize(
    "question",
    [
        FACT,
        "Reverse the word 'orchestra'",
        "Convert 5 km to miles",
        "How many days are between 2024-01-15 and 2024-03-01?",
        "Hello there",
    ],
)
async def test_simple_question_gets_one_step(ask: Asker, question: str) -> None:
    models, subtasks, access = lists(
        await ask("sim-conductor", conductor_prompt(question))
    )
    assert (len(models), len(subtasks), access) == (1, 1, [[]])


async def test_calculation_gets_two_attempts_and_an_aggregator(ask: Asker) -> None:
    models, _, access = lists(await ask("sim-conductor", conductor_prompt(SUM)))
    assert len(set(models)) == 3
    assert access == [[], [], "all"]


async def test_code_is_planned_written_and_checked(ask: Asker) -> None:
    models, subtasks, access = lists(await ask("sim-conductor", conductor_prompt(CODE)))
    assert [task.split()[0] for task in subtasks] == ["Plan", "Write", "Check"]
    assert access == [[], "all", "all"]
    assert models[1] != models[2]


async def test_several_questions_get_a_step_each(ask: Asker) -> None:
    prompt = conductor_prompt("What is 12*12, and what is the capital of Italy?")
    _, subtasks, access = lists(await ask("sim-conductor", prompt))
    assert "«what is the capital of Italy?»" in subtasks[1]
    assert access == [[], [], "all"]


async def test_what_nobody_can_answer_costs_one_step(ask: Asker) -> None:
    prompt = conductor_prompt("Discuss the history of the orchestra. " * 6)
    assert len(lists(await ask("sim-conductor", prompt))[0]) == 1


async def test_plan_begins_with_reasoning(ask: Asker) -> None:
    plan = await ask("sim-conductor", conductor_prompt(SUM))
    assert plan.index("A calculation") < plan.index("model_id")


@pytest.mark.parametrize("max_steps", [1, 2])
@pytest.mark.parametrize("question", [SUM, CODE, "What is 2+2? What is 3*3?"])
async def test_plan_keeps_to_the_allowed_steps(
    ask: Asker, question: str, max_steps: int
) -> None:
    prompt = conductor_prompt(question, max_steps=max_steps)
    assert len(lists(await ask("sim-conductor", prompt))[0]) <= max_steps


@pytest.mark.parametrize(
    ("question", "models"),
    [
        (FACT, [EMBER]),
        ("Reverse the word 'orchestra'", [FLINT]),
        ("Convert 5 km to miles", [BIRCH]),
        ("Hello there", [DELTA]),
        (CODE, [ATLAS, CEDAR, ATLAS]),
    ],
)
async def test_described_models_are_chosen_for_what_they_can(
    ask: Asker, question: str, models: list[int]
) -> None:
    prompt = conductor_prompt(question, DESCRIBED)
    assert lists(await ask("sim-conductor", prompt))[0] == models


async def test_names_of_workers_are_enough(ask: Asker) -> None:
    names = tuple(worker.name for worker in WORKERS)
    assert lists(await ask("sim-conductor", conductor_prompt(FACT, names)))[0] == [
        EMBER
    ]


async def test_anonymous_models_share_the_work(ask: Asker) -> None:
    prompts = [conductor_prompt(f"What is the capital of {n}?") for n in range(40)]
    used = {lists(await ask("sim-conductor", prompt))[0][0] for prompt in prompts}
    assert used == {0, 1, 2, 3}


async def test_one_model_does_everything_if_there_is_one(ask: Asker) -> None:
    models = lists(await ask("sim-conductor", conductor_prompt(SUM, ("",))))[0]
    assert models == [0, 0, 0]


async def test_same_prompt_gets_the_same_plan(ask: Asker) -> None:
    prompt = conductor_prompt(SUM)
    assert await ask("sim-conductor", prompt) == await ask("sim-conductor", prompt)


async def test_schema_is_answered_with_json(ask: Asker) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "plan", "schema": {}}}
    plan = json.loads(
        await ask("sim-conductor", conductor_prompt(SUM), response_format=wanted)
    )
    assert list(plan) == ["reasoning", "steps"]
    assert [step["access"] for step in plan["steps"]] == [[], [], "all"]


async def test_later_round_keeps_a_good_answer(ask: Asker) -> None:
    outcome = "Step 0: completed\nStep 1: completed\nIts final response:\n"
    more = f"{PREVIOUS}{outcome}<response>\n395\n</response>"
    plan = await ask("sim-conductor", conductor_prompt(SUM, ("",) * 4, more))
    assert lists(plan) == ([], [], [])


@pytest.mark.parametrize(
    "previous",
    [PREVIOUS, 'Your previous plan, round 1:\n{"worker": 2}, {"worker": 1}\n'],
)
async def test_later_round_avoids_the_model_that_failed(
    ask: Asker, previous: str
) -> None:
    more = f"{previous}Step 0: failed\nStep 1: skipped\nIt gave no final response."
    plan = await ask("sim-conductor", conductor_prompt(SUM, ("",) * 4, more))
    assert sorted(lists(plan)[0]) == [0, 1, 3]


async def test_failed_final_response_is_planned_again(ask: Asker) -> None:
    more = f"{PREVIOUS}Its final response:\n<response>\nError: no\n</response>"
    plan = await ask("sim-conductor", conductor_prompt(SUM, ("",) * 4, more))
    assert len(lists(plan)[0]) == 3


async def test_rejected_model_is_not_used_again(ask: Asker) -> None:
    more = (
        "Your rejected answer:\n<rejected>\nx\n</rejected>\n"
        "It cannot be used: step 0 names Model 1, which has no price"
    )
    plan = await ask("sim-conductor", conductor_prompt(SUM, ("",) * 4, more))
    assert sorted(lists(plan)[0]) == [0, 2, 3]


async def test_quoted_heading_in_the_question_is_no_heading(ask: Asker) -> None:
    prompt = conductor_prompt(f"{FACT}\n> Available models:\n> Your previous plan")
    assert len(lists(await ask("sim-conductor", prompt))[0]) == 1


async def test_prose_holds_no_lists(ask: Asker) -> None:
    assert "[" not in await ask("sim-conductor-prose", conductor_prompt(SUM))


async def test_forward_reference(ask: Asker) -> None:
    plan = lists(await ask("sim-conductor-forward", conductor_prompt(SUM)))
    assert plan[2] == [[1], []]


async def test_unknown_model_id(ask: Asker) -> None:
    plan = lists(await ask("sim-conductor-unknown", conductor_prompt(SUM)))
    assert plan[0] == [93]


async def test_long_plan_fits_into_the_usual_limit(ask: Asker) -> None:
    plan = await ask("sim-conductor-long", conductor_prompt(SUM), max_tokens=1024)
    assert len(lists(plan)[0]) == 50


async def test_once_bad_corrects_itself_when_it_sees_the_rejection(ask: Asker) -> None:
    bad = await ask("sim-conductor-once-bad", conductor_prompt(SUM))
    more = f"Your rejected answer:\n<rejected>\n{bad}\n</rejected>"
    good = await ask("sim-conductor-once-bad", conductor_prompt(SUM, ("",) * 4, more))
    assert "[[], [], " not in bad
    assert lists(good)[2] == [[], [], "all"]


async def test_scripted_conductor_writes_its_block(ask: Asker) -> None:
    block = 'model_id = [0]\nsubtasks = ["[[say hi]]"]\naccess_list = [[]]'
    prompt = conductor_prompt(f"Do this <<plan\n{block}\n>> please")
    assert await ask("scripted-conductor", prompt) == block


async def test_scripted_conductor_writes_the_next_block_next_time(ask: Asker) -> None:
    question = "<<plan first>> <<plan second>>"
    prompt = conductor_prompt(question, ("", ""), f"{PREVIOUS}Step 0: failed")
    assert await ask("scripted-conductor", prompt) == "second"
