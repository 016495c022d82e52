"""Questions in natural words, and whether a worker that is always right solves them."""

from __future__ import annotations

from typing import Any

import pytest

from apps.simulator import families
from apps.simulator.families.programs import PROGRAMS, Program
from tests.simulator.asking import Asker

PERFECT = "fault-no-usage"
"""A model that is always right and has nothing else wrong with its text."""

QUESTIONS = [
    ("What is 17 * 23 + 4?", "395"),
    ("2+2", "4"),
    ("Calculate (2 + 3)^2 - 10/4.", "22.5"),
    ("What is 15% of 80?", "12"),
    ("what is 25 percent of 1,200", "300"),
    ("200 + 10%", "220"),
    ("What is 3 times 4 plus 2?", "14"),
    ("Compute -3 * -4", "12"),
    ("2^3^2", "512"),
    ("-2^2", "-4"),
    ("Evaluate 2^-2", "0.25"),
    ("What is 1/3?", "≈ 0.3333333333"),
    ("What is 1 / (2 - 2)?", "undefined"),
    ("What is 0.1 + 0.2?", "0.3"),
    ("What is 7 squared minus 9?", "40"),
    ("How many days are between 2024-01-15 and 2024-03-01?", "46 days"),
    ("How many days from 1 January 2023 to December 31, 2023?", "364 days"),
    ("What weekday was 20 July 1969?", "Sunday"),
    ("Which day of the week is 2024-02-29?", "Thursday"),
    ("What date is 45 days after 2024-02-01?", "2024-03-17"),
    ("Add 2 weeks to March 3, 2025", "2025-03-17"),
    ("What date is 10 days before 2024-03-05?", "2024-02-24"),
    ("Is 1900 a leap year?", "No"),
    ("Is the year 2024 a leap year?", "Yes"),
    ("Convert 5 km to miles", "3.10686 miles"),
    ("How many inches are in 2 feet?", "24 inches"),
    ("What is 100 degrees Fahrenheit in Celsius?", "37.7778 °C"),
    ("Convert 25 °C to °F", "77 °F"),
    ("How many minutes are in a day?", "1440 minutes"),
    ("Convert 10 lb to kg", "4.53592 kilograms"),
    ("How many bytes are in 3 MiB?", "3145728 bytes"),
    ("Reverse the word 'orchestra'", "artsehcro"),
    ("How many letters are in the word 'banana'?", "6 letters"),
    ("How many r are in strawberry?", "3 times"),
    ("How many times does the letter s appear in 'mississippi'?", "4 times"),
    ("How many words are in “the quick brown fox”?", "4 words"),
    ("Sort these words: pear, apple, fig", "apple, fig, pear"),
    ('Put "zebra ant cat" in alphabetical order', "ant cat zebra"),
    ("Write 'hello world' in upper case", "HELLO WORLD"),
    ("Is 'Never odd or even' a palindrome?", "Yes"),
    ("Is 'conductor' a palindrome?", "No"),
    ("What is the capital of France?", "Paris"),
    ("Which city is the capital of New Zealand?", "Wellington"),
    ("What is the chemical symbol for gold?", "Au"),
    ("Which planet is the largest?", "Jupiter"),
    ("Who wrote Hamlet?", "William Shakespeare"),
    ("What is the speed of light?", "299,792,458 m/s"),
    ("A shop has 5 boxes of 7 pencils and sells 15. How many are left?", "20"),
    ("A baker had 12 trays of 9 rolls and sold 30. How many remain?", "78"),
    ("A shop has 8 boxes of 7 pens and sells 90. How many are left?", "That cannot be"),
    ("Mary reads 5 pages a day for 12 days. How many pages is that?", "60"),
    ("A shop has 3 boxes of 4 cups and buys 5 more. How many are there?", "17"),
    ("What does this program print?\n\ny = 43 % 20\nprint(y * 35)", "105"),
    (
        "What does this code print?\n```python\nfor i in range(3):\n    if i > 0:\n"
        "        print(i * 7)\n```",
        "7, 14",
    ),
    ("How many minutes are 3000 hours?", "180000 minutes"),
    ("Spell hello from its last letter to its first.", "olleh"),
    ("What is the capital of Vietnam?", "Hanoi"),
    ("Name the capitals of Norway, Brazil and Russia.", "Oslo, Brasília, Moscow"),
    ("What is 19% VAT on 1,250 euros?", "237.5"),
]
UNKNOWN = [
    "Explain how transformers work.",
    "Tell me about the 2024-2025 season",
    "What is 5 -",
    "((((",
    "What is " + "(" * 100 + "1 + 1" + ")" * 100 + "?",
    "What is 9^9^9?",
    "What date is 99999 weeks after 9999-01-01?",
    "Convert 5 km to kilograms",
    "Reverse the word ''",
    "How long is 2024-02-30?",
    "A shop has 5 boxes of 7 pens, 3 cups, and sells 2. How many are left?",
    "What does this program print?\n\nwhile 1 > 0:\n    x = 1\nprint(x)",
    "What does this program print?\n\nimport os\nprint(os.name)",
    "What does this program print?\n\nx = 9\nfor i in range(99):\n    x = x * x",
    "What does this program print?\n\nprint(1 // 0)",
]


@pytest.mark.parametrize(("question", "expected"), QUESTIONS)
async def test_known_question_is_answered_first_and_in_bold(
    ask: Asker, question: str, expected: str
) -> None:
    assert (await ask(PERFECT, question)).startswith(f"**{expected}**")


@pytest.mark.parametrize("question", UNKNOWN)
async def test_unknown_question_gets_an_honest_answer(
    ask: Asker, question: str
) -> None:
    answer = await ask(PERFECT, question)
    assert answer.startswith("I am a simulated worker and cannot answer this.")
    assert "\n" not in answer.partition("\n\n")[0]
    assert "What is 17 * 23 + 4?" in answer


@pytest.mark.parametrize("question", [question for question, _ in QUESTIONS])
def test_slips_are_never_right(question: str) -> None:
    solved = families.solve(question)
    assert solved is not None and solved.slips
    assert solved.right.answer not in [slip.answer for slip in solved.slips]


@pytest.mark.parametrize("example", families.EXAMPLES)
def test_every_example_works(example: str) -> None:
    assert families.solve(example) is not None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program_gives_the_results_it_shows(program: Program) -> None:
    assert _results(program, program.code) == _expected(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_program_with_the_bug_gives_others(program: Program) -> None:
    assert _results(program, program.wrong_code) != _expected(program)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Write a Python function that returns the nth Fibonacci number", "fibonacci"),
        ("Write a function that checks if a number is prime", "is_prime"),
        ("Implement gcd in Python", "gcd"),
        ("Write a Python function to reverse a string", "reverse_string"),
        ("Python code for factorial", "factorial"),
        ("Write a FizzBuzz program", "fizzbuzz"),
        ("Write a function that says if a string is a palindrome", "is_palindrome"),
        ("Write a Python function that counts vowels", "count_vowels"),
    ],
)
async def test_code_question_gets_the_function(
    ask: Asker, question: str, name: str
) -> None:
    assert (await ask(PERFECT, question)).startswith(f"```python\ndef {name}(")


async def test_several_questions_are_answered_one_by_one(ask: Asker) -> None:
    answer = await ask(PERFECT, "What is 12*12, and what is the capital of Italy?")
    assert "**144**" in answer
    assert "**Rome**" in answer


def _results(program: Program, code: str) -> list[Any]:
    names: dict[str, Any] = {}
    exec(code, names)
    return [_result(call, names) for call, _ in program.examples]


def _result(call: str, names: dict[str, Any]) -> Any:
    try:
        return eval(call, names)
    except (ValueError, ZeroDivisionError) as exc:
        return type(exc)


def _expected(program: Program) -> list[Any]:
    return [eval(result) for _, result in program.examples]
