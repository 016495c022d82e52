"""Code that has to pass tests. It runs in a sandbox; the verdict is made outside.

Cases: what is expected never enters the sandbox. `check(candidate)`: tests and answer
are in two programs that exchange plain data. Test classes: both are in one program,
which must report a secret after its last test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from secrets import token_hex
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart
from apps.evaluation.verifiers.answer_code import answer_code, whole_program
from apps.evaluation.verifiers.grade import RIGHT, Grade
from apps.sandbox.running import program_file, sandbox_run
from apps.sandbox.types import (
    MEGABYTE,
    SandboxEnd,
    SandboxLimits,
    SandboxOutcome,
    SandboxProgram,
)

MAX_CODE = 500_000
"""Characters of a prefix, or of tests."""
MAX_CASE = 20_000_000
"""Characters of an input, or of an output."""
MAX_CASES = 500
MAX_TIME_S = 60
MAX_MEMORY_MB = 4_096
MAX_DETAIL = 100
"""Characters of what the code says of itself."""
MAX_NUMBER = 1_000
"""Characters of a number that is compared by value."""
SECRET_BYTES = 16
CHECK = re.compile(r"^def[ \t]+check[ \t]*\(", re.MULTILINE)
LENGTH_DIGITS = 12
"""Of the number before the code that a program with test classes gets."""
ANSWER, PLAIN_DATA = "answer.py", "plain_data.py"
SERVER = "function_server.py"
Code = Annotated[str, StringConstraints(max_length=MAX_CODE)]


class CodeCase(InputPart):
    """One input, and what a right answer makes of it."""

    input: Annotated[str, StringConstraints(max_length=MAX_CASE)] = ""
    """Standard input; with an entry point the arguments, as JSON, one on each line."""
    output: Annotated[str, StringConstraints(max_length=MAX_CASE)]
    """Standard output; with an entry point what it returns, as JSON."""


class UnitTestsVerifier(InputPart):
    """The code of the answer passes every test, in a sandbox."""

    kind: Literal["unit_tests"]
    tests: Code = ""
    """Code with a function `check(candidate)`, or with classes of `unittest`."""
    cases: Annotated[tuple[CodeCase, ...], Field(max_length=MAX_CASES)] = ()
    """Instead of `tests`."""
    entry_point: Annotated[
        str, StringConstraints(pattern=r"^(?:[A-Za-z_]\w{0,99})?$")
    ] = ""
    """Name of the function that is tested. Empty: a program with input and output."""
    prefix: Code = ""
    """Code that stands before that of the answer."""
    time_s: Annotated[int, Field(ge=1, le=MAX_TIME_S)] = 10
    """Seconds of a processor for each case, or for the tests."""
    memory_mb: Annotated[int, Field(ge=64, le=MAX_MEMORY_MB)] = 1_024

    @model_validator(mode="after")
    def _has_tests(self) -> Self:
        if bool(self.tests) == bool(self.cases):
            raise PydanticCustomError("tests", "either tests or cases are needed")
        if self._is_check and not self.entry_point:
            raise PydanticCustomError("tests", "check(candidate) needs an entry_point")
        return self

    @property
    def _is_check(self) -> bool:
        return CHECK.search(self.tests) is not None

    @property
    def _limits(self) -> SandboxLimits:
        return SandboxLimits(
            cpu_s=self.time_s,
            wall_s=2.0 * self.time_s + 2,
            memory_bytes=self.memory_mb * MEGABYTE,
        )

    def grade(self, text: str) -> Grade:
        """Run the tests. Blocks for up to twice their time.

        Raises: SandboxUnavailable if no sandbox can be made.
        """
        code = whole_program(self.prefix, answer_code(text), self.entry_point)
        if not self.cases:
            return self._by_check(code) if self._is_check else self._by_classes(code)
        for number, case in enumerate(self.cases, start=1):
            grade = self._by_case(code, case)
            if not grade.is_right:
                where = f", case {number} of {len(self.cases)}"
                return Grade(False, f"{grade.why}{where}")
        return RIGHT

    def _by_case(self, code: str, case: CodeCase) -> Grade:
        if self.entry_point:
            script, job = "function_call.py", self._job(code)
            files = _files(script, SERVER, PLAIN_DATA)
            given = f"{job}\n{case.input}"
        else:
            script, files, given = ANSWER, {ANSWER: code}, case.input
        outcome = sandbox_run(files, [SandboxProgram(script, given)], self._limits)
        if outcome.end != SandboxEnd.COMPLETED:
            return self._wrong(outcome)
        same = _is_same_value if self.entry_point else _is_same_text
        if same(outcome.output, case.output):
            return RIGHT
        return Grade(False, "failed: another output")

    def _by_check(self, code: str) -> Grade:
        """Run `check` in one program, and the answer in another one."""
        given = {
            "prefix": self.prefix,
            "tests": self.tests,
            "entry_point": self.entry_point,
        }
        tests = SandboxProgram("function_tests.py", json.dumps(given))
        answer = SandboxProgram(SERVER, self._job(code))
        files = _files(tests.script, answer.script, PLAIN_DATA)
        return self._by_secret(files, tests, answer)

    def _by_classes(self, code: str) -> Grade:
        length = len(code.encode(errors="replace"))
        given = f"{length:0{LENGTH_DIGITS}}{code}{self.tests}"
        program = SandboxProgram("unit_tests.py", given)
        return self._by_secret(_files(program.script), program)

    def _by_secret(self, files: dict[str, str], *programs: SandboxProgram) -> Grade:
        secret = token_hex(SECRET_BYTES)
        outcome = sandbox_run(files, programs, self._limits, secret=secret)
        if outcome.report == secret and outcome.end == SandboxEnd.COMPLETED:
            return RIGHT
        return self._wrong(outcome)

    def _job(self, code: str) -> str:
        return json.dumps({"code": code, "entry_point": self.entry_point})

    def _wrong(self, outcome: SandboxOutcome) -> Grade:
        """Say in one line, which begins with the cause, why the code is not right."""
        said = (outcome.report or outcome.detail).strip()[:MAX_DETAIL]
        end = outcome.end
        if said.startswith("MemoryError"):
            end = SandboxEnd.MEMORY
        words = {
            SandboxEnd.TIMEOUT: f"more than {self.time_s} s",
            SandboxEnd.MEMORY: f"more than {self.memory_mb} MB",
            SandboxEnd.OUTPUT: f"more than {self._limits.output_bytes:,} bytes",
            SandboxEnd.CRASHED: outcome.detail,
            SandboxEnd.COMPLETED: "it ended before its tests",
            SandboxEnd.FAILED: said or "it ended before its tests",
        }[end]
        name = SandboxEnd.FAILED if end == SandboxEnd.COMPLETED else end
        return Grade(False, f"{name}: {words}")


def _files(*names: str) -> dict[str, str]:
    return {name: program_file(name) for name in names}


def _is_same_value(found: str, expected: str) -> bool:
    try:
        same_text = found.strip() == expected.strip()
        return same_text or _are_equal(json.loads(found), json.loads(expected))
    except (ValueError, RecursionError):
        return False


def _are_equal(one: Any, other: Any) -> bool:
    """Compare JSON values; unlike in Python, `true` is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        names = one.keys()
        return names == other.keys() and all(
            _are_equal(one[name], other[name]) for name in names
        )
    return bool(one == other)


def _is_same_text(found: str, expected: str) -> bool:
    """Compare line by line: the same text without its ends, or the same numbers."""
    lines, wanted = _lines(found), _lines(expected)
    return len(lines) == len(wanted) and all(
        one == other or _are_same_numbers(one, other)
        for one, other in zip(lines, wanted, strict=True)
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def _are_same_numbers(found: str, expected: str) -> bool:
    try:
        return list(_numbers(found)) == list(_numbers(expected))
    except InvalidOperation:
        return False


def _numbers(line: str) -> Iterator[Decimal]:
    for word in line.split():
        if len(word) > MAX_NUMBER:
            raise InvalidOperation
        yield Decimal(word)
