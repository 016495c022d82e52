"""Code that has to pass tests: what counts as its code, and which forms tests have."""

from __future__ import annotations

import itertools
import sys
import threading
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from apps.evaluation.verifiers.answer_code import answer_code, whole_program
from apps.evaluation.verifiers.kinds import Verifier
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier
from apps.sandbox import availability, running
from apps.sandbox.availability import linux_version, sandbox_problem
from apps.sandbox.running import sandbox_run
from apps.sandbox.types import (
    SandboxLimits,
    SandboxProgram,
    SandboxUnavailable,
)

needs_sandbox = pytest.mark.skipif(
    sandbox_problem() is not None, reason=f"no sandboxes here: {sandbox_problem()}"
)
PREFIX = (
    "from typing import List\n\n\n"
    "def half(x: int) -> int:\n    return x // 2\n\n\n"
    'def doubled(given: List[int]) -> List[int]:\n    """ Double each. """\n'
)
CHECK = (
    "def check(candidate):\n"
    "    assert candidate([1, 2]) == [2, 4]\n"
    "    assert [half(x) for x in candidate(given=[3])] == [3]\n"
)
CLASSES = (
    "import unittest\nfrom unittest.mock import patch\n\n\n"
    "class TestCases(unittest.TestCase):\n"
    "    def test_numbers(self):\n"
    "        self.assertEqual(doubled([1, 2]), [2, 4])\n"
    "    @patch('builtins.print')\n"
    "    def test_objects(self, said):\n"
    "        class Own:\n"
    "            def __mul__(self, n):\n"
    "                print('x')\n"
    "                return n\n"
    "        self.assertEqual(doubled([Own()]), [2])\n"
    "        said.assert_called_once()\n"
)
WHOLE = "def doubled(given):\n    return [x * 2 for x in given]\n"


def block(code: str, language: str = "python") -> str:
    return f"Here it is:\n\n```{language}\n{code}\n```\nIt doubles."


def grade(answer: str, **values: Any) -> str:
    """Return why an answer is not right; empty: it is."""
    verifier = UnitTestsVerifier.model_validate({"kind": "unit_tests", **values})
    found = verifier.grade(answer)
    assert found.is_right == (found.why == "")
    return found.why


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x = 1", "x = 1"),
        ("    return 1\n", "    return 1\n"),
        ("a\n```python\nx = 1\n```\nb\n```python\nx = 2\n```", "x = 2\n"),
        ("```py\nx = 1\n```\n```bash\nls\n```\n```\nout\n```", "x = 1\n"),
        ("```\nx = 1\n```\n```json\n{}\n```", "x = 1\n"),
        ("1. So:\n   ```python\n   if x:\n       y\n   ```", "if x:\n    y\n"),
        ("```python\nx = 1", "x = 1"),
        ("```python\nx = 1\n```\n\n— simulated worker sim-atlas", "x = 1\n"),
    ],
)
def test_the_code_of_an_answer(text, code):
    assert answer_code(text) == code


def test_code_follows_its_prefix_or_completes_it():
    assert whole_program("", WHOLE, "doubled") == WHOLE
    assert whole_program(PREFIX, WHOLE, "doubled") == f"{PREFIX}\n\n{WHOLE}"
    assert whole_program(PREFIX, "    return 1", "doubled") == f"{PREFIX}    return 1"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "either tests or cases"),
        ({"tests": CHECK, "cases": [{"output": "1"}]}, "either tests or cases"),
        ({"tests": CHECK}, "needs an entry_point"),
        ({"cases": [{"output": ""}], "entry_point": "a b"}, "entry_point"),
        ({"cases": [{"output": ""}], "time_s": 600}, "time_s"),
        ({"cases": [{"output": ""}], "memory_mb": 1}, "memory_mb"),
    ],
)
def test_tasks_that_cannot_be_graded_are_refused(values, why):
    with pytest.raises(ValidationError, match=why):
        TypeAdapter(Verifier).validate_python({"kind": "unit_tests", **values})


@needs_sandbox
@pytest.mark.parametrize("tests", [CHECK, CLASSES], ids=["check", "classes"])
def test_code_that_passes_its_tests_is_right(tests):
    task = {"tests": tests, "prefix": PREFIX, "entry_point": "doubled"}
    assert grade(block(WHOLE), **task) == ""
    assert grade("    return [x * 2 for x in given]\n", **task) == ""
    assert grade(block("def doubled(given): return given"), **task).startswith("failed")
    assert grade(block("def doubled(given) return"), **task).startswith("failed: ")
    assert grade("I do not know.", **task).startswith("failed: SyntaxError")


@needs_sandbox
def test_which_test_failed_is_said():
    task = {"tests": CHECK, "prefix": PREFIX, "entry_point": "doubled"}
    once = "def doubled(given):\n    return [2, 4]"
    assert grade(block(once), **task) == "failed: AssertionError at line 3 of the tests"
    own = "def doubled(given):\n    class Own(Exception): pass\n    raise Own"
    assert grade(block(own), **task) == "failed: Own at line 2 of the tests"
    task["tests"] = CLASSES
    assert grade(block(once), **task) == "failed: 1 of 2 tests"


@needs_sandbox
def test_values_of_all_plain_kinds_come_back():
    code = "def same(x, **more):\n    return more['y'] if more else x\n"
    tests = (
        "def check(candidate):\n"
        "    for x in (None, True, 1, -1.5, 'ä', b'b', 10 ** 5000, float('inf'), 2j,\n"
        "              [1, (2, {3}), frozenset([4])], {(1, 2): [None]}, {}):\n"
        "        assert candidate(x) == x and type(candidate(x)) is type(x)\n"
        "    assert candidate(1, y=2) == 2\n"
        "    try:\n"
        "        candidate()\n"
        "    except TypeError:\n"
        "        return\n"
        "    assert False\n"
    )
    assert grade(block(code), tests=tests, entry_point="same") == ""


@needs_sandbox
def test_programs_are_compared_by_their_output():
    cases = [
        {"input": "1 2\n", "output": "3\n"},
        {"input": "1.5 1.50\n", "output": "3\nend"},
    ]
    code = (
        "a, b = map(float, input().split())\n"
        "if __name__ == '__main__':\n"
        "    print('', f'{a + b:.3f} ')\n"
        "    if a != 1: print('end\\n')\n"
    )
    assert grade(block(code), cases=cases) == ""
    why = grade(block(code.replace("end", "fin")), cases=cases)
    assert why == "failed: another output, case 2 of 2"
    assert grade(block("import nothing"), cases=cases).startswith(
        "failed: ModuleNotFoundError: No module named 'nothing', case 1"
    )


@needs_sandbox
def test_functions_are_compared_by_what_they_return():
    cases = [
        {"input": '[1, 2]\n"x"', "output": '[[1, 2], "x"]'},
        {"input": "0.5\nnull", "output": "[0.50, null]"},
    ]
    code = (
        "class Solution:\n    def pair(self, a, b):\n        print('x')\n"
        "        return a, b\n"
    )
    task = {"cases": cases, "entry_point": "pair"}
    assert grade(block(code), **task) == ""
    assert grade(block("def pair(a, b): return [a, b]"), **task) == ""
    assert grade(block("def pair(a, b): return [b, a]"), **task).endswith("case 1 of 2")
    assert grade(block("def pair(a, b): return {1}"), **task).startswith(
        "failed: TypeError: Object of type set"
    )


@needs_sandbox
def test_one_is_not_true():
    task = {"cases": [{"input": "0", "output": '[true, {"a": 0}]'}], "entry_point": "f"}
    for answer, is_right in (
        ("[True, {'a': 0}]", True),
        ("[True, {'a': 0.0}]", True),
        ("[1, {'a': 0}]", False),
        ("[True, {'a': False}]", False),
        ("[True]", False),
    ):
        why = grade(block(f"def f(_): return {answer}"), **task)
        assert (why == "") == is_right, answer


@needs_sandbox
def test_limits_are_those_of_the_task():
    task = {"cases": [{"output": "1"}]}
    slow = "n = 0\nwhile n < 10 ** 10: n += 1\nprint(1)"
    large = "x = bytearray(200 << 20)\nprint(1)"
    assert grade(block(slow), **task, time_s=1).startswith("timeout: more than 1 s")
    assert grade(block(large), **task, memory_mb=64).startswith("memory: more than 64")
    assert grade(block(large), **task, memory_mb=400) == ""


SPAN = """
import time
begin = time.monotonic()
time.sleep(0.2)
print(begin, time.monotonic())
"""
"""Says when it began and ended."""


@needs_sandbox
def test_no_more_sandboxes_than_set_run_at_once(settings):
    settings.SANDBOX_PARALLEL = 1
    running._places.cache_clear()
    spans = []

    def run() -> None:
        code = {"x.py": SPAN}
        outcome = sandbox_run(code, [SandboxProgram("x.py")], SandboxLimits())
        begin, end = outcome.output.split()
        spans.append((float(begin), float(end)))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    running._places.cache_clear()
    spans.sort()
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


@needs_sandbox
def test_code_runs_with_the_python_that_is_set(settings):
    code = {"x.py": "import sys; print(sys.prefix)"}
    program = [SandboxProgram("x.py")]
    outcome = sandbox_run(code, program, SandboxLimits())
    assert outcome.output.strip() == sys.base_prefix
    settings.SANDBOX_PYTHON = sys.executable
    code = {"x.py": "import orjson, sys; print(sys.prefix)"}
    assert sandbox_run(code, program, SandboxLimits()).output.strip() == sys.prefix
    settings.SANDBOX_PYTHON = "/nothing/python"
    with pytest.raises(SandboxUnavailable, match="SANDBOX_PYTHON='/nothing/python'"):
        sandbox_run(code, program, SandboxLimits())


@pytest.fixture
def sysctls(tmp_path):
    """The settings of a kernel that allows nothing."""
    for name in ("user/max_user_namespaces", "kernel/unprivileged_userns_clone"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("0\n")
    return tmp_path


def test_what_is_missing_is_said(sysctls, monkeypatch):
    assert sandbox_problem(sysctls) == "sysctl user.max_user_namespaces is 0"
    (sysctls / "user/max_user_namespaces").write_text("100\n")
    monkeypatch.setattr("os.geteuid", lambda: 1_000)
    assert sandbox_problem(sysctls) == "sysctl kernel.unprivileged_userns_clone is 0"


def test_a_sandbox_that_cannot_be_made_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(availability, "_works", False)
    monkeypatch.setattr(running, "_launch", lambda *_: {"problem": "no namespaces: x"})
    (tmp_path / "kernel").mkdir()
    hint = tmp_path / "kernel/apparmor_restrict_unprivileged_userns"
    hint.write_text("1\n")
    problem = sandbox_problem(tmp_path)
    assert problem == (
        "no namespaces: x; sysctl kernel.apparmor_restrict_unprivileged_userns is 1"
    )
    verifier = UnitTestsVerifier.model_validate(
        {"kind": "unit_tests", "cases": [{"output": ""}]}
    )
    with pytest.raises(SandboxUnavailable, match="no namespaces"):
        verifier.grade("x = 1")


def test_other_machines_are_refused(monkeypatch):
    monkeypatch.setattr("platform.release", lambda: "5.10.0-8-amd64")
    assert sandbox_problem() == "sandboxes need Linux 5.14, and this is 5.10.0-8-amd64"
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert "and this is riscv64" in str(sandbox_problem())
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    assert sandbox_problem() == "sandboxes need Linux, and this is Darwin"
    assert linux_version("6.1-rc2") == (6, 1)
