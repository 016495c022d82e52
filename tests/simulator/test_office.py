"""Replies to tickets, summaries and quotations: what the demo's presets ask for."""

from __future__ import annotations

import pytest

from apps.playground.demo.presets import PRESETS
from apps.simulator.office import OfficeTask, office_task
from tests.simulator.asking import Asker, conductor_prompt, lists, worker_message

TICKET = "My export has been stuck at 80 % since Monday. Can you restart it?"
NOTES = (
    "We agreed to move in May. Who pays for the move?\n"
    "- Anna will ask three movers until Friday.\nIt rained."
)
FILE = (
    "When does the lease end?\n\nFile: lease.txt (3 lines)\n```\n"
    "The lease begins on 1 May.\nIt ends on 30 April 2029.\nRent is monthly.\n```\n"
)


def preset(name: str, **variables: str) -> str:
    """Return the prompt of a preset of the demo with its variables filled in."""
    prompt = str(next(p["prompt"] for p in PRESETS if p["name"] == name))
    for variable, value in variables.items():
        before, _, rest = prompt.partition("{{" + variable)
        prompt = before + value + rest.partition("}}")[2]
    return prompt


def ticket(words: int = 120) -> str:
    return preset(
        "Reply to a customer",
        language="English",
        tone="friendly",
        words=str(words),
        ticket=TICKET,
    )


def notes() -> str:
    return preset("Sum up a meeting", readers="everybody", notes=NOTES)


def task_of(prompt: str) -> OfficeTask:
    found = office_task(prompt)
    assert found is not None
    return found


def test_a_reply_takes_up_what_the_ticket_asks():
    text = task_of(f"You write for support.\n\n{ticket()}").text
    assert "“Can you restart it?”" in text
    assert "Next step" in text


@pytest.mark.parametrize("words", [5, 20, 120])
def test_a_reply_has_no_more_words_than_it_may(words):
    assert len(task_of(ticket(words)).text.split()) <= words


def test_a_summary_has_what_the_notes_say_and_nothing_else():
    decisions, questions, tasks = task_of(notes()).text.split("**")[2::2]
    assert "We agreed to move in May." in decisions
    assert "Who pays for the move?" in questions
    assert "Anna will ask three movers until Friday." in tasks
    assert "rained" not in task_of(notes()).text


def test_a_file_is_quoted_with_the_line():
    text = task_of(FILE).text
    assert "lease.txt, line 2: “It ends on 30 April 2029.”" in text
    assert "Rent" not in text


def test_a_file_that_says_nothing_of_it_is_said_to():
    text = task_of(FILE.replace("When does the lease end", "Who is Bob")).text
    assert "No line of lease.txt has a word of the question." in text


@pytest.mark.parametrize(
    ("content", "quoted"),
    [
        (
            "[Slide 1]\nCosts\nThe costs of the move are 4,200 euros.",
            "The costs of the",
        ),
        ("[Sheet Costs]\nItem\tCosts\nAll costs\t4200\n", "All costs 4200"),
        ("item,costs\ncosts of the move,4200", "costs of the move,4200"),
        ("# Costs\n\nThey are 4,200 euros: all costs.", "They are 4,200 euros"),
        ("[Page 1]\n# Costs", "# Costs"),
    ],
)
def test_a_file_is_quoted_by_what_it_says(content: str, quoted: str) -> None:
    """Not by a mark of the reader, a heading or the names of columns."""
    prompt = f"What are the costs?\n\nFile: a.txt (1 KB)\n```\n{content}\n```\n"
    assert task_of(prompt).text.startswith(f"**“{quoted}")


def test_a_check_compares_the_draft_with_its_source():
    task = task_of(ticket())
    assert task.checked(task.text).startswith(task.text)
    assert "of 120 allowed; 1 quotation" in task.checked(task.text)
    made_up = "Hello, you wrote “Give me my money back”."
    assert task.checked(made_up).startswith(task.text)
    assert "did not keep to the ticket" in task.checked("word " * 121)


@pytest.mark.parametrize("prompt", ["What is 2 + 2?", "", "File: none", "x" * 300_000])
def test_other_prompts_are_none(prompt):
    assert office_task(prompt) is None


@pytest.mark.parametrize("prompt", [ticket(), notes(), FILE])
async def test_they_are_written_and_checked_by_two(ask: Asker, prompt: str) -> None:
    described = ("Writes texts.", "Reviews what others wrote.")
    models, subtasks, access = lists(
        await ask("sim-conductor", conductor_prompt(prompt, described))
    )
    assert access == [[], "all"]
    assert len(set(models)) == 2
    draft = await ask("sim-flint", worker_message(prompt, subtasks[0]))
    final = await ask(
        "bench-checking",
        worker_message(prompt, subtasks[1], ((subtasks[0], draft),)),
    )
    assert final.startswith(draft.partition("\n\n— simulated")[0])
    assert "*Checked:" in final
