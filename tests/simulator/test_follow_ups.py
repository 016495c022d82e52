"""Follow-ups: a program of the conversation is changed, an answer is explained."""

from __future__ import annotations

import re
from typing import Any

import pytest

from apps.simulator.families.programs import PROGRAMS, Program
from apps.simulator.follow_ups import RevisedProgram, revised
from tests.simulator.asking import Asker, conductor_prompt, lists, worker_message

PENS = "A shop has 55 boxes of 7 pens and sells 15 pens. How many pens are left?"
FIBONACCI = PROGRAMS[0]
REQUEST = "Write a Python function for the nth Fibonacci number"


def conversation(*turns: str) -> str:
    speakers = ("User", "Assistant")
    return "\n\n".join(
        f"{speakers[number % 2]}: {text}" for number, text in enumerate(turns)
    )


def after(follow_up: str, code: str = FIBONACCI.code) -> str:
    return conversation(REQUEST, f"```python\n{code}\n```\n\nDone.", follow_up)


def revision(question: str) -> RevisedProgram:
    program = revised(question)
    assert program is not None
    return program


def run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(code, names)
    return names


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_both_forms_of_every_program_do_what_the_examples_say(program: Program):
    for code in (program.code, program.recursive):
        names = run(code)
        for call, result in program.examples:
            assert eval(call, names) == eval(result), (code, call)


def test_a_function_is_renamed_wherever_it_is_named():
    code = revision(after("Rename it to `fib`, please", FIBONACCI.recursive)).code
    assert run(code)["fib"](10) == 55
    assert "fibonacci" not in code


def test_a_loop_becomes_recursion_and_keeps_its_new_name():
    renamed = revision(after("Call it fib")).code
    code = revision(after("Now write it recursively", renamed)).code
    assert code.count("fib(") == 3
    assert run(code)["fib"](10) == 55


def test_what_is_so_already_is_said_and_kept():
    program = revision(after("Now write it iteratively"))
    assert program.code == FIBONACCI.code
    assert "already" in program.note
    assert "already" in revision(after("Add type hints and a docstring")).note


def test_the_tests_that_are_added_pass():
    code = revision(after("Write unit tests for it")).code
    run(code)["test_fibonacci"]()


def test_the_tests_that_are_added_to_a_faulty_program_fail():
    code = revision(after("Add tests", FIBONACCI.wrong_code)).code
    with pytest.raises(AssertionError):
        run(code)["test_fibonacci"]()


def test_negative_numbers_are_refused_after_the_docstring():
    names = run(revision(after("Handle negative numbers")).code)
    with pytest.raises(ValueError, match="n must not be negative"):
        names["fibonacci"](-1)
    assert names["fibonacci"].__doc__
    assert names["fibonacci"](10) == 55


@pytest.mark.parametrize(
    "question",
    [
        "Rename it to fib",
        conversation("Hello", "Hello!", "Rename it to fib"),
        after("Thank you"),
        after("Rename it to for"),
        after("Rename it to fib", "def fibonacci(n:"),
        after("Rename it to fib", "fibonacci = 1"),
        after("Rename it to fib " + "and so on " * 40),
    ],
)
def test_other_turns_revise_nothing(question: str):
    assert revised(question) is None


async def test_a_worker_revises_and_another_one_checks(ask: Asker):
    question = after("Now write it recursively")
    draft = await ask("sim-atlas", worker_message(question, "Write it."))
    assert "return fibonacci(n - 1) + fibonacci(n - 2)" in draft
    check = "Check the text from the earlier step, and give the final text."
    final = await ask(
        "sim-birch", worker_message(question, check, (("Write it.", draft),))
    )
    assert "Checked: Python reads it, and it defines `fibonacci`." in final
    other = (("Write it.", "```python\npass\n```"),)
    mended = await ask("sim-birch", worker_message(question, check, other))
    assert "The draft did not do what was asked" in mended


async def test_a_revision_is_planned_as_writing_and_checking(ask: Asker):
    plan = await ask("sim-conductor", conductor_prompt(after("Rename it to fib")))
    models, subtasks, access = lists(plan)
    assert len(set(models)) == 2
    assert "Check" in subtasks[1]
    assert access[1] in ("all", [0])


@pytest.mark.parametrize("model", ["sim-atlas", "bench-generalist-strong"])
async def test_an_answer_is_explained(ask: Asker, model: str):
    question = conversation("What is 17 * 23 + 4?", "**395**", "Why?")
    said = await ask(model, worker_message(question, "Answer the question."))
    assert "391" in said
    again = conversation("What is 17 * 23 + 4?", "**395**", "Why?", said, "Why?")
    assert "391" in await ask(model, worker_message(again, "Answer the question."))


async def test_a_task_of_the_benchmark_is_explained_by_its_method(ask: Asker):
    task = "How many centimetres are 12 metres?"
    question = conversation(task, "**1200**", "How did you get that?")
    said = await ask("bench-coding", worker_message(question, "Answer it."))
    assert re.search(r"How it is done: \w+", said)


@pytest.mark.parametrize(
    ("asked", "follow_up", "answer"),
    [
        ("What is 12 + 34 - 5?", "And 86 + 99 - 6?", "179"),
        ("What is the capital of France?", "And of Norway?", "Oslo"),
        ("Convert 12 metres to centimetres.", "And in millimetres?", "12,?000"),
        ("Convert 5 km to miles", "What about in metres", "5,?000"),
        ("What is 17 * 23 + 4?", "Now 2 + 2!", r"\*\*4\*\*"),
        ("What is 17 * 23 + 4?", "Is that right?", r"\*\*395\*\*"),
        (PENS, "What if it sells 20 pens?", r"\*\*365\*\*"),
        (PENS, "Now with 60 boxes", r"\*\*405\*\*"),
        ("Convert 12 metres to centimetres.", "And with 15 instead?", "1,?500"),
    ],
)
async def test_a_follow_up_is_completed_by_the_question_before(
    ask: Asker, asked: str, follow_up: str, answer: str
):
    question = conversation(asked, "Done.", follow_up)
    said = await ask("forgetful", worker_message(question, "Answer it."))
    assert re.search(answer, said), said


@pytest.mark.parametrize(
    ("follow_up", "answer"),
    [
        ("Double it", "790"),
        ("Multiply that by 3, please", "1185"),
        ("What is half of that?", "197.5"),
        ("Add 5", "400"),
    ],
)
async def test_a_follow_up_calculates_with_the_answer_before(
    ask: Asker, follow_up: str, answer: str
):
    question = conversation("What is 17 * 23 + 4?", "**395**\n\nSure.", follow_up)
    said = await ask("forgetful", worker_message(question, "Answer it."))
    assert said.startswith(f"**{answer}**")


def test_a_recursive_program_is_explained_as_one():
    note = revision(after("Why?", FIBONACCI.recursive)).note
    assert "`fibonacci` calls itself" in note


async def test_what_completes_to_nothing_known_is_not_answered(ask: Asker):
    question = conversation("What is the capital of France?", "Paris", "And you?")
    assert "cannot answer" in await ask(
        "forgetful", worker_message(question, "Answer.")
    )
