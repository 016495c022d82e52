"""Runs an answer and then the test classes of its task, in one process.

They share a process because such tests use objects of any kind and replace parts of
modules. So an answer made to deceive exactly this program can do so. What is checked:
that every test ran, was not skipped and passed, and that neither `unittest` nor the
built-in functions were changed. The report is a secret that this program reads, from
a descriptor with a number by chance, once all tests have passed.
"""

from __future__ import annotations

import builtins
import fcntl
import os
import random
import sys
import types
import unittest
import unittest.mock
from collections.abc import Mapping, Sequence
from typing import Any

SECRET, REPORT = 3, 4
MAX_SECRET = 100
LENGTH_DIGITS = 12
MODULE = "__test__"
GUARDED: tuple[Any, ...] = (
    builtins,
    unittest,
    unittest.case,
    unittest.case.TestCase,
    unittest.loader,
    unittest.loader.TestLoader,
    unittest.result,
    unittest.result.TestResult,
    unittest.suite,
    unittest.suite.BaseTestSuite,
    unittest.suite.TestSuite,
)
"""What an answer must leave as it is."""


class NotAllPassed(Exception):
    """Why an answer is not right."""


def main() -> None:
    """Run both parts; report the secret, or why the answer is not right."""
    length = int(os.pread(0, LENGTH_DIGITS, 0))
    code = os.pread(0, length, LENGTH_DIGITS).decode()
    source, secret, report = (_hidden(number) for number in (0, SECRET, REPORT))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    before = [(each, dict(vars(each))) for each in GUARDED]
    try:
        module = types.ModuleType(MODULE)
        sys.modules[MODULE] = module
        _execute(code, "answer.py", module)
        _require_unchanged(before)
        size = os.fstat(source).st_size
        tests = os.pread(source, size, LENGTH_DIGITS + length).decode()
        _run(tests, module)
        _require_unchanged(before)
    except NotAllPassed as exc:
        os.write(report, str(exc).encode(errors="replace"))
        os._exit(1)
    os.write(report, os.read(secret, MAX_SECRET))
    os._exit(0)


def _hidden(number: int) -> int:
    """Move a descriptor to a number by chance."""
    lowest = random.randrange(20, 50)
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, lowest)
    if number:
        os.close(number)
    return moved


def _execute(code: str, name: str, module: types.ModuleType) -> None:
    try:
        exec(compile(code, name, "exec"), module.__dict__)  # nosec B102
    except MemoryError:
        raise
    except BaseException as exc:  # noqa: BLE001 - SystemExit of the answer included
        raise NotAllPassed(f"{type(exc).__name__} in {name}") from None


def _require_unchanged(before: Sequence[tuple[Any, Mapping[str, Any]]]) -> None:
    for each, values in before:
        now = vars(each)
        if any(now.get(name) is not value for name, value in values.items()):
            raise NotAllPassed("it changed the tests or what they are made of")


def _run(tests: str, module: types.ModuleType) -> None:
    result = unittest.TestResult()
    loader = unittest.TestLoader()
    _execute(tests, "tests.py", module)
    suite = loader.loadTestsFromModule(module)
    count = suite.countTestCases()
    if not count:
        raise NotAllPassed("the task has no tests")
    suite.run(result)
    failed = len(result.failures) + len(result.errors)
    others = len(result.skipped) + len(result.expectedFailures)
    if failed:
        raise NotAllPassed(f"{failed} of {count} tests")
    if result.testsRun != count or others or result.unexpectedSuccesses:
        raise NotAllPassed("not all of its tests were run")


if __name__ == "__main__":
    main()
