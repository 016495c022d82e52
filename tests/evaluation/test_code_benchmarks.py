"""Public benchmarks of code, as they are published. The samples are our own."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import pytest

from apps.evaluation.suites import code_benchmarks
from apps.evaluation.suites.files import UnreadableSuite, tasks_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier
from apps.sandbox.availability import sandbox_problem

needs_sandbox = pytest.mark.skipif(
    sandbox_problem() is not None, reason=f"no sandboxes here: {sandbox_problem()}"
)
HUMANEVAL = {
    "task_id": "HumanEval/999",
    "prompt": "from typing import List\n\n\ndef total(prices: List[int]) -> int:\n"
    '    """ Return the sum.\n    >>> total([1, 2])\n    3\n    """\n',
    "entry_point": "total",
    "canonical_solution": "    return sum(prices)\n",
    "test": "\n\nMETADATA = {'author': 'x', 'dataset': 'test'}\n\n\n"
    "def check(candidate):\n    assert candidate([1, 2]) == 3\n"
    "    assert candidate([]) == 0\n",
}
BIGCODEBENCH = {
    "task_id": "BigCodeBench/9999",
    "complete_prompt": "import random\n\ndef task_func(n):\n"
    '    """\n    Draw a number from 1 to n.\n    """\n',
    "instruct_prompt": "Draw a number from 1 to n. Write self-contained code that "
    "begins with:\n```\nimport random\n\ndef task_func(n):\n```",
    "canonical_solution": "    return random.randint(1, n)\n",
    "code_prompt": "import random\ndef task_func(n):\n",
    "test": "import unittest\nfrom unittest.mock import patch\n"
    "class TestCases(unittest.TestCase):\n"
    "    @patch('random.randint', return_value=4)\n"
    "    def test_case_1(self, drawn):\n"
    "        self.assertEqual(task_func(6), 4)\n"
    "        drawn.assert_called_with(1, 6)\n",
    "entry_point": "task_func",
    "doc_struct": "{}",
    "libs": "['random']",
}
STDIN = [
    {"input": "2\n3 4\n", "output": "7\n", "testtype": "stdin"},
    {"input": "1\n5\n", "output": "5", "testtype": "stdin"},
]
FUNCTIONAL = [{"input": "[3, 1]\n2", "output": "[6, 2]", "testtype": "functional"}]


def packed(tests: Any) -> str:
    """Return tests as LiveCodeBench publishes its private ones."""
    return base64.b64encode(zlib.compress(pickle.dumps(tests))).decode()


def livecodebench(public: str, private: str, **more: Any) -> dict[str, Any]:
    return {
        "question_title": "A. Sums",
        "question_content": "Given n and n numbers, print their sum.",
        "platform": "atcoder",
        "question_id": "abc999_a",
        "contest_id": "abc999",
        "contest_date": "2026-01-01T00:00:00",
        "starter_code": "",
        "difficulty": "easy",
        "public_test_cases": public,
        "private_test_cases": private,
        "metadata": "{}",
        **more,
    }


PROGRAMS = livecodebench(json.dumps(STDIN[:1]), packed(json.dumps(STDIN[1:])))
FUNCTIONS = livecodebench(
    json.dumps(FUNCTIONAL),
    json.dumps(FUNCTIONAL),
    starter_code="class Solution:\n    def scale(self, a: List[int], k: int):\n",
    metadata=json.dumps({"func_name": "scale"}),
)
SAMPLES = {
    "humaneval": (
        HUMANEVAL,
        "def total(prices):\n    return sum(prices)",
        "def total(prices):\n    return 3",
    ),
    "bigcodebench": (
        BIGCODEBENCH,
        "def task_func(n):\n    return random.randint(1, n)",
        "def task_func(n):\n    return 4",
    ),
    "bigcodebench-complete": (
        BIGCODEBENCH,
        "    return random.randint(1, n)",
        "    return random.randint(0, n)",
    ),
    "livecodebench": (
        PROGRAMS,
        "from __future__ import annotations\ninput()\n"
        "print(sum(map(int, input().split())))",
        "print(7)",
    ),
    "livecodebench, functions": (
        FUNCTIONS,
        "class Solution:\n    def scale(self, a: List[int], k: int):\n"
        "        return tuple(each * k for each in a)",
        "class Solution:\n    def scale(self, a, k):\n        return a",
    ),
}


def read(kind: str, row: dict[str, Any]) -> SuiteTask:
    content = json.dumps(row).encode()
    (task,) = tasks_read(content, "test.jsonl", kind.partition(",")[0])
    return task


@needs_sandbox
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_row_becomes_a_task_that_grades(kind):
    row, right, wrong = SAMPLES[kind]
    task = read(kind, row)
    assert task.needs_sandbox
    assert task.verifier.grade(f"```python\n{right}\n```").why == ""
    assert not task.verifier.grade(f"```python\n{wrong}\n```").is_right


@needs_sandbox
def test_the_published_solutions_of_humaneval_are_right():
    solution = HUMANEVAL["canonical_solution"]
    assert read("humaneval", HUMANEVAL).verifier.grade(solution).is_right


def test_ids_families_and_prompts():
    assert read("humaneval", HUMANEVAL).id == "HumanEval/999"
    assert HUMANEVAL["prompt"] in read("humaneval", HUMANEVAL).prompt
    big = read("bigcodebench", BIGCODEBENCH)
    assert big.id == "BigCodeBench/9999"
    assert big.prompt == BIGCODEBENCH["instruct_prompt"]
    task = read("livecodebench", PROGRAMS)
    assert (task.id, task.family) == ("abc999_a", "easy")
    assert "standard input" in task.prompt
    assert isinstance(task.verifier, UnitTestsVerifier)
    assert [case.output for case in task.verifier.cases] == ["7\n", "5"]
    assert "class Solution:" in read("livecodebench", FUNCTIONS).prompt


class Hostile:
    """Runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, ("__import__('os')._exit(1)",)


@pytest.mark.parametrize(
    ("private", "why"),
    [
        (packed(Hostile()), "its packed test cases are more than a text"),
        (packed(["[]", "[]"]), "its packed test cases are more than a text"),
        (packed(b"[]"), "its packed test cases are more than a text"),
        (base64.b64encode(zlib.compress(b"x")).decode(), "more than a text"),
        (base64.b64encode(b"no").decode(), "neither JSON nor packed JSON"),
        ("no", "neither JSON nor packed JSON"),
        (packed("{}"), "its test cases are no list of objects"),
        ("[1]", "its test cases are no list of objects"),
        ('[{"input": "1"}]', "it has no field 'output'"),
    ],
)
def test_tests_in_another_form_are_refused(private, why):
    with pytest.raises(UnreadableSuite, match=why):
        read("livecodebench", livecodebench("[]", private))


def test_tests_that_would_fill_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(code_benchmarks, "MAX_TESTS", 1_000)
    with pytest.raises(UnreadableSuite, match="more than 1,000 bytes"):
        read("livecodebench", livecodebench("[]", packed("[" + " " * 5_000 + "]")))


def test_functions_without_a_name_are_refused():
    row = {**FUNCTIONS, "metadata": "{}"}
    with pytest.raises(UnreadableSuite, match="it has no field 'func_name'"):
        read("livecodebench", row)
