"""Coding: functions to write, functions to repair, programs to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.simulator.benchmark.forms import Form, TaskFamily, Values, says
from apps.simulator.cases.use_case import (
    ANSWER,
    CHECK,
    CasePlan,
    CaseStep,
    CaseWorkers,
    UseCase,
    forms_of,
)
from apps.simulator.suitability import Need

FUNCTIONS, REPAIRS = "functions", "repairs"
FAMILIES = (FUNCTIONS, REPAIRS, TaskFamily.TRACING)
DIGITS = range(2, 10)
TEENS = range(10, 20)


@dataclass(frozen=True, slots=True)
class FunctionKind:
    """What the tasks of one wording have in common."""

    name: str
    codes: tuple[str, ...]
    """The right one, then others with one bug each; `{a}` as in a wording."""
    cases: Callable[..., Sequence[tuple[object, object]]]
    """Returns arguments and results, by which answers are tested."""
    method: str
    values: Mapping[str, Sequence[object]]

    def code(self, values: Values) -> tuple[str, ...]:
        """Return the codes for these values."""
        return tuple(code.format(**values) for code in self.codes)

    def verifier(self, values: Values, _answer: str) -> Mapping[str, Any]:
        """Return the unit tests for these values."""
        numbers = {name: int(value) for name, value in values.items()}
        lines = "".join(
            f"    assert candidate({given!r}) == {result!r}\n"
            for given, result in self.cases(**numbers)
        )
        tests = f"def check(candidate):\n{lines}"
        return {"kind": "unit_tests", "entry_point": self.name, "tests": tests}

    def form(self, family: str, wording: str) -> Form:
        """Return the wording."""
        return Form(
            family,
            wording,
            self.values,
            solve=lambda values: self.code(values)[0],
            method=says(self.method),
            wrong=lambda _values: (f"def {self.name}(given):\n    return None",),
            near=lambda values: self.code(values)[1:],
            verifier=self.verifier,
            is_code=True,
        )


def _written(purpose: str, kind: FunctionKind) -> Form:
    """Return a wording that asks for a function."""
    head = kind.codes[0].partition(":")[0].removeprefix("def ")
    wording = (
        f"Write a Python function `{head}` that returns {purpose}. Give the function "
        "alone, in one block of code."
    )
    return kind.form(FUNCTIONS, wording)


def _repaired(purpose: str, kind: FunctionKind) -> Form:
    """Return a wording that shows a function with its first bug."""
    wording = (
        f"The Python function `{kind.name}` should return {purpose}, but it does "
        "not. Give the corrected function in one block of code.\n\n"
        f"```python\n{kind.codes[1]}\n```"
    )
    return kind.form(REPAIRS, wording)


def _body(head: str, *lines: str) -> tuple[str, ...]:
    return tuple(f"def {head}:\n    return {line}" for line in lines)


def _letters(count: int) -> str:
    return "".join("abcdefghijklmnopqrstuvwxyz"[n % 26] for n in range(count))


OWN_FORMS = (
    _written(
        "the sum of the numbers in a list that can be divided by {c} and are greater "
        "than {a}",
        FunctionKind(
            "sum_of_multiples",
            _body(
                "sum_of_multiples(numbers)",
                "sum(n for n in numbers if n % {c} == 0 and n > {a})",
                "sum(n for n in numbers if n % {c} == 0 and n >= {a} - {a} % {c})",
                "len([n for n in numbers if n % {c} == 0 and n > {a}])",
            ),
            lambda a, c: [
                ([], 0),
                ([a - a % c, a * c, a * c + 1], a * c),
                ([c * 20, c * 30, 1], c * 50),
            ],
            "Keep the numbers above the bound that leave no remainder, then add them.",
            {"a": TEENS, "c": DIGITS},
        ),
    ),
    _written(
        "a list with the same numbers, in which each one below {a} is replaced by {a} "
        "and each one above {b} by {b}",
        FunctionKind(
            "limited",
            _body(
                "limited(numbers)",
                "[min(max(n, {a}), {b}) for n in numbers]",
                "[min(n, {b}) for n in numbers]",
                "[n for n in numbers if {a} <= n <= {b}]",
            ),
            lambda a, b: [([], []), ([a - 3, a, a + 1, b + 9], [a, a, a + 1, b])],
            "Raise each number to the lower bound first, then cut it to the upper one.",
            {"a": TEENS, "b": range(40, 60)},
        ),
    ),
    _written(
        "every {c}th character of a text, beginning with the first, and at most {a} of "
        "them",
        FunctionKind(
            "every_nth",
            _body(
                "every_nth(text)",
                "text[::{c}][:{a}]",
                "text[{c} - 1 :: {c}][:{a}]",
                "text[::{c}]",
            ),
            lambda a, c: [
                ("", ""),
                (_letters(3 * c), _letters(3 * c)[::c]),
                (_letters(20 * c), _letters(20 * c)[::c][:a]),
            ],
            "Take a slice with that step from the start, then cut it to the length.",
            {"a": TEENS, "c": range(4, 10)},
        ),
    ),
    _repaired(
        "how many words of a text have more than {c} letters, but never more than {a}",
        FunctionKind(
            "long_words",
            _body(
                "long_words(text)",
                "min(len([w for w in text.split() if len(w) > {c}]), {a})",
                "min(len([w for w in text.split() if len(w) >= {c}]), {a})",
                "len([w for w in text.split() if len(w) > {c}])",
            ),
            lambda a, c: [
                ("", 0),
                (f"{'a' * c} {'b' * (c + 1)} c", 1),
                (f"{'d' * (c + 1)} " * 20, a),
            ],
            "Try a word of exactly that length: it must not count.",
            {"a": TEENS, "c": DIGITS},
        ),
    ),
    _repaired(
        "a price in cents less {p} percent of it, where that part is rounded down to "
        "whole cents, but never less than {a}",
        FunctionKind(
            "reduced",
            _body(
                "reduced(price)",
                "max(price - price * {p} // 100, {a})",
                "max(price * {p} // 100, {a})",
                "price - price * {p} // 100",
            ),
            lambda a, p: [
                (1_000, 1_000 - 10 * p),
                (9_999, 9_999 - 9_999 * p // 100),
                (1, a),
            ],
            "Subtract the part from the price; the code returns the part itself.",
            {"a": TEENS, "p": range(11, 50)},
        ),
    ),
    _repaired(
        "the last {a} items of a list, the last one first",
        FunctionKind(
            "newest_first",
            _body(
                "newest_first(items)",
                "items[-{a}:][::-1]",
                "items[:{a}][::-1]",
                "items[-{a}:]",
            ),
            lambda a: [
                ([], []),
                (list(range(60)), list(range(59, 59 - a, -1))),
                ([1, 2], [2, 1]),
            ],
            "Take the end of the list, not its beginning, then reverse it.",
            {"a": range(10, 50)},
        ),
    ),
)
FORMS = (*OWN_FORMS, *forms_of(TaskFamily.TRACING))
_PLANNED = CasePlan(
    "Code is best planned, written and checked, each by a model that is good at it.",
    (
        CaseStep(Need.PLANNING, "Plan the function: approach and edge cases."),
        CaseStep(Need.CODE, "Write the function as outlined.", (0,)),
        CaseStep(
            Need.CHECKING,
            "Check the code from the earlier step, correct any fault, and give the "
            "complete code.",
            (0, 1),
        ),
    ),
)
_TRACED = CasePlan(
    "Nobody traces a program safely alone: one model works it out, another checks it.",
    (CaseStep(Need.CODE, ANSWER), CaseStep(Need.CHECKING, CHECK, (0,))),
)
WORKERS = CaseWorkers(FAMILIES, FORMS)
CODING = UseCase(
    name="coding",
    fallback="coding-large",
    plans={FUNCTIONS: _PLANNED, REPAIRS: _PLANNED, TaskFamily.TRACING: _TRACED},
    forms=FORMS,
    workers=(
        WORKERS.make(
            "coding-planner",
            "Simulated. Planning: outlines functions and their edge cases.",
            price=2,
            solve=(0.30, 0.30, 0.20),
            guided={FUNCTIONS: 0.40, REPAIRS: 0.40},
            planning=0.95,
            repair=(0.3, 0.3, 0.2),
        ),
        WORKERS.make(
            "coding-writer",
            "Simulated. Writes Python code.",
            price=3,
            solve=(0.60, 0.55, 0.45),
            guided={FUNCTIONS: 0.92, REPAIRS: 0.90},
            planning=0.40,
            repair=(0.3, 0.3, 0.3),
        ),
        WORKERS.make(
            "coding-checker",
            "Simulated. Checks what others wrote and corrects it.",
            price=2,
            solve=(0.40, 0.40, 0.40),
            guided={FUNCTIONS: 0.50, REPAIRS: 0.50},
            planning=0.20,
            repair=(0.90, 0.85, 0.92),
        ),
        WORKERS.make(
            "coding-large",
            "Simulated. A large, strong model for everything.",
            price=10,
            solve=(0.75, 0.70, 0.50),
            guided={FUNCTIONS: 0.80, REPAIRS: 0.80},
            planning=0.70,
            repair=(0.4, 0.4, 0.4),
            first_token_ms=500,
            tokens_per_s=80,
        ),
    ),
)
