"""Simulated workers: how often they are right, and what each role does."""

from __future__ import annotations

import httpx
import pytest

from apps.simulator.app import create_app
from apps.simulator.connection import Connection
from apps.simulator.workers import WORKERS, SimulatedWorker
from tests.simulator.asking import Asker, worker_message

PERFECT = "fault-no-usage"
FIBONACCI = "Write a Python function that returns the nth Fibonacci number"
COMBINE = "Compare the earlier attempts and state the final answer."


def other_seed(seed: int) -> Asker:
    transport = httpx.ASGITransport(app=create_app(speed=0, seed=seed))
    return Asker(httpx.AsyncClient(transport=transport, base_url="http://sim"))


async def share_right(ask: Asker, model: str, count: int = 200) -> float:
    answers = [await ask(model, f"What is {n} + 7?") for n in range(count)]
    right = [a.startswith(f"**{n + 7}**") for n, a in enumerate(answers)]
    return sum(right) / count


@pytest.mark.parametrize("worker", WORKERS, ids=lambda worker: worker.name)
async def test_worker_signs_its_answer(ask: Asker, worker: SimulatedWorker) -> None:
    answer = await ask(worker.name, "What is the capital of Peru?")
    assert answer.endswith(f"— simulated worker {worker.name}")


async def test_same_request_gets_the_same_answer(ask: Asker) -> None:
    first = [await ask("sim-flint", f"What is {n}*{n}?") for n in range(30)]
    again = other_seed(0)
    assert first == [await again("sim-flint", f"What is {n}*{n}?") for n in range(30)]


async def test_another_seed_makes_other_mistakes(ask: Asker) -> None:
    first = [await ask("sim-flint", f"What is {n}*{n}?") for n in range(60)]
    other = other_seed(1)
    assert first != [await other("sim-flint", f"What is {n}*{n}?") for n in range(60)]


async def test_small_worker_is_wrong_about_as_often_as_it_says(ask: Asker) -> None:
    assert 0.7 < await share_right(ask, "sim-flint") < 0.9


async def test_strong_worker_is_nearly_always_right(ask: Asker) -> None:
    assert await share_right(ask, "sim-atlas") > 0.95


async def test_worker_answers_the_question_of_its_message(ask: Asker) -> None:
    message = worker_message("What is 6*7?", "Work it out on your own.")
    assert (await ask(PERFECT, message)).startswith("**42**")


async def test_worker_answers_the_part_it_is_given(ask: Asker) -> None:
    question = "What is 12*12, and what is the capital of Italy?"
    subtask = "Answer only this part: «what is the capital of Italy?»."
    answer = await ask(PERFECT, worker_message(question, subtask))
    assert answer.startswith("**Rome**")


async def test_subtask_counts_when_the_question_is_unknown(ask: Asker) -> None:
    message = worker_message("Tell me of two sums.", "What is 40 + 2?")
    assert (await ask(PERFECT, message)).startswith("**42**")


async def test_aggregator_goes_with_the_majority(ask: Asker) -> None:
    earlier = (("a", "**41**"), ("b", "**41**"))
    answer = await ask(PERFECT, worker_message("What is 6*7?", COMBINE, earlier))
    assert answer.startswith("**41**")
    assert "| step 2 | 41 |" in answer


async def test_aggregator_decides_between_two_that_differ(ask: Asker) -> None:
    earlier = (("a", "**41**"), ("b", "**42**"))
    answer = await ask(PERFECT, worker_message("What is 6*7?", COMBINE, earlier))
    assert answer.startswith("**42**")


async def test_aggregator_trusts_itself_when_all_differ(ask: Asker) -> None:
    earlier = (("a", "**40**"), ("b", "I do not know."), ("c", "**41**"))
    answer = await ask(PERFECT, worker_message("What is 6*7?", COMBINE, earlier))
    assert answer.startswith("**42**")
    assert "They all differ" in answer


async def test_parts_are_put_together_in_order(ask: Asker) -> None:
    question = "What is 12*12, and what is the capital of Italy?"
    earlier = (("a", "**143**"), ("b", "**Milan**"))
    answer = await ask(PERFECT, worker_message(question, "Combine them.", earlier))
    assert answer.index("**143**") < answer.index("**Milan**")


async def test_planner_outlines_without_code(ask: Asker) -> None:
    answer = await ask(PERFECT, worker_message(FIBONACCI, "Plan the function."))
    assert answer.startswith("**Plan for `fibonacci`**")
    assert "def " not in answer


async def test_checker_corrects_faulty_code(ask: Asker) -> None:
    right = await ask(PERFECT, FIBONACCI)
    faulty = right.replace("range(n)", "range(n - 1)")
    checked = await ask(
        PERFECT, worker_message(FIBONACCI, "Check the code.", (("write", faulty),))
    )
    assert "for _ in range(n):" in checked
    assert "Reviewed and corrected" in checked


async def test_checker_leaves_good_code_alone(ask: Asker) -> None:
    right = await ask(PERFECT, FIBONACCI)
    message = worker_message(FIBONACCI, "Check the code.", (("write", right),))
    assert "I found no fault" in await ask(PERFECT, message)


async def test_a_program_in_a_list_stays_in_its_item(ask: Asker) -> None:
    answer = await ask(PERFECT, f"What is 2+3? {FIBONACCI}.")
    code = answer.partition("```python\n")[2].partition("```")[0]
    assert "def fibonacci" in code
    assert all(line.startswith("   ") for line in code.splitlines() if line)


async def test_scripted_worker_says_what_its_subtask_says(ask: Asker) -> None:
    message = worker_message("[[say not me]]", "Please [[say this [1]\nexactly]].")
    assert await ask("scripted", message) == "this [1]\nexactly"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that models pause for, in order."""
    pauses: list[float] = []
    pause = Connection.pause

    async def noted(connection: Connection, seconds: float) -> None:
        pauses.append(seconds)
        await pause(connection, seconds)

    monkeypatch.setattr(Connection, "pause", noted)
    return pauses


@pytest.mark.parametrize("name", ["delay-60000", "tokens-1000-1", "sim-atlas"])
async def test_speed_zero_waits_for_nothing(
    ask: Asker, name: str, pauses: list[float]
) -> None:
    await ask.response(name, "What is 6*7?", stream=True)
    assert sum(pauses) == 0


async def test_delay_takes_at_least_as_long_as_its_name_says() -> None:
    transport = httpx.ASGITransport(app=create_app(speed=1))
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as client:
        response = await Asker(client).response("delay-40", "hi")
    assert response.elapsed.total_seconds() >= 0.04


async def test_speed_multiplies_the_pace_of_tokens(pauses: list[float]) -> None:
    transport = httpx.ASGITransport(app=create_app(speed=100))
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as client:
        await Asker(client).response("tokens-6-1", "hi", stream=True)
    # A pause is shorter by what the rest took; at speed 1 they would be 5 seconds.
    assert 0 < sum(pauses) <= 0.061


CONVERSATION = (
    "Be brief.\n\nUser: What is 1 + 1?\n\nAssistant: 2\n\n"
    "User: What is the capital of France?"
)


async def test_last_turn_of_a_conversation_is_answered(ask: Asker) -> None:
    asked = worker_message(CONVERSATION, "Answer the question directly.")
    assert (await ask("sim-atlas", asked)).startswith("**Paris**")


async def test_question_below_instructions_is_answered(ask: Asker) -> None:
    asked = worker_message("Be brief.\n\nWhat is 6*7?", "Answer the question.")
    assert (await ask("sim-atlas", asked)).startswith("**42**")


async def test_question_in_a_plan_is_what_tools_are_called_for(ask: Asker) -> None:
    needs = {"type": "object", "properties": {"city": {"type": "string"}}}
    function = {"name": "get_weather", "parameters": needs}
    asked = worker_message("What is the weather in Oslo?", "Answer the question.")
    response = await ask.response(
        "sim-atlas", asked, tools=[{"type": "function", "function": function}]
    )
    message = response.json()["choices"][0]["message"]
    assert message["tool_calls"][0]["function"]["arguments"] == '{"city":"Oslo"}'
