"""The wordings of the tasks: what varies in them, and how each is solved.

A wording is both written and read: `{name}` stands for one of the values that are
listed for it, and the same list decides whether a text is that wording. What a task is
about is in its text, so an answer is worked out from there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

Values = Mapping[str, str]
WORD = re.compile(r"\w+")
MAX_DIGITS = 9
ANY_NUMBER = re.compile(rf"[1-9]\d{{0,{MAX_DIGITS - 1}}}")


class TaskFamily(StrEnum):
    """A kind of task; what a worker can do depends on it."""

    ARITHMETIC = "arithmetic"
    """A calculation with two or three numbers."""
    UNITS = "units"
    """A quantity in a smaller unit."""
    REVERSAL = "reversal"
    """A made-up word, written backwards."""
    CAPITALS = "capitals"
    """The capital of one or two countries."""
    WORD_PROBLEMS = "word_problems"
    """A calculation told as a story; most workers need a plan by another one."""
    TRACING = "tracing"
    """What a short program prints; nearly all workers need somebody who checks."""


@dataclass(frozen=True, eq=False)
class Form:
    """One wording of a family, equal to itself only.

    Not slotted: its pattern is computed once.
    """

    family: str
    """One of `TaskFamily`, or a family of a use case."""
    wording: str
    values: Mapping[str, Sequence[object]]
    """What each name in the wording may be."""
    solve: Callable[[Values], str | None]
    """Returns the answer; None if these values make no task."""
    method: Callable[[Values], str]
    """Returns what a good plan for it says."""
    wrong: Callable[[Values], Sequence[str]] | None = None
    """Answers that have nothing to do with the right one; None if it is a number."""
    near: Callable[[Values], Sequence[str]] | None = None
    """Wrong answers that a check can repair; None: small slips."""
    verifier: Callable[[Values, str], Mapping[str, Any]] | None = None
    """Returns the verifier of a task; None: the answer has to be the same."""
    is_code: bool = False
    """True: the answer is a program, which is shown as a block of code."""
    takes_any_number: bool = False
    """True: a number that is not among the values, but up to `MAX_DIGITS` long and
    more than 0, makes a task too. None such is ever drawn."""
    placeholders: Mapping[str, str] = field(default_factory=dict)
    """What may stand for a value where a policy hides it from models."""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return what matches the wording with one space between words."""
        parts = re.split(r"\{(\w+)\}", " ".join(self.wording.split()))
        pattern, named = re.escape(parts[0]), set[str]()
        for name, after in zip(parts[1::2], parts[2::2], strict=True):
            pattern += f"(?P={name})" if name in named else self._group(name)
            pattern += re.escape(after)
            named.add(name)
        return re.compile(pattern)

    @cached_property
    def known(self) -> Mapping[str, frozenset[str]]:
        """Return the values of each name as they are written."""
        return {
            name: frozenset(map(str, of)) | self._hidden(name)
            for name, of in self.values.items()
        }

    def takes(self, name: str, value: str) -> bool:
        """Return whether a value may stand for a name."""
        if value in self.known[name]:
            return True
        return self.takes_any_number and bool(ANY_NUMBER.fullmatch(value))

    def _hidden(self, name: str) -> frozenset[str]:
        return frozenset(p for n, p in self.placeholders.items() if n == name)

    def _group(self, name: str) -> str:
        if self.takes_any_number:
            return rf"(?P<{name}>\d{{1,{MAX_DIGITS}}})"
        values = self.known[name]
        if not all(WORD.fullmatch(value) for value in values):
            # The longest first: one value may begin with another one.
            longest_first = sorted(values, key=lambda value: (-len(value), value))
            return f"(?P<{name}>{'|'.join(map(re.escape, longest_first))})"
        lengths = {len(value) for value in values}
        return rf"(?P<{name}>\w{{{min(lengths)},{max(lengths)}}})"


def says(text: str) -> Callable[[Values], str]:
    """Return a method that is the same for all values."""
    return lambda _values: text


def _number(calculate: Callable[..., int]) -> Callable[[Values], str]:
    """Return a solver that passes the values on as whole numbers."""
    return lambda values: str(calculate(**{k: int(v) for k, v in values.items()}))


TWO_DIGITS = range(10, 100)
FEW = range(10, 20)
FACTORS = range(2, 10)
NUMBERS: Mapping[str, Sequence[object]] = {
    "a": TWO_DIGITS,
    "b": TWO_DIGITS,
    "c": FACTORS,
}

SMALLER_UNITS = {
    "kilometres": ("metres", 1000),
    "metres": ("centimetres", 100),
    "kilograms": ("grams", 1000),
    "litres": ("millilitres", 1000),
    "weeks": ("days", 7),
    "days": ("hours", 24),
    "hours": ("minutes", 60),
    "minutes": ("seconds", 60),
}
"""Each unit, a smaller one, and how many of them it has."""

CAPITALS = {
    "Albania": "Tirana",
    "Angola": "Luanda",
    "Armenia": "Yerevan",
    "Austria": "Vienna",
    "Belgium": "Brussels",
    "Bulgaria": "Sofia",
    "Canada": "Ottawa",
    "Chile": "Santiago",
    "Colombia": "Bogota",
    "Croatia": "Zagreb",
    "Cuba": "Havana",
    "Cyprus": "Nicosia",
    "Denmark": "Copenhagen",
    "Ecuador": "Quito",
    "Egypt": "Cairo",
    "Estonia": "Tallinn",
    "Finland": "Helsinki",
    "France": "Paris",
    "Georgia": "Tbilisi",
    "Germany": "Berlin",
    "Ghana": "Accra",
    "Greece": "Athens",
    "Hungary": "Budapest",
    "Iceland": "Reykjavik",
    "Iran": "Tehran",
    "Iraq": "Baghdad",
    "Ireland": "Dublin",
    "Italy": "Rome",
    "Jamaica": "Kingston",
    "Japan": "Tokyo",
    "Jordan": "Amman",
    "Kenya": "Nairobi",
    "Latvia": "Riga",
    "Lebanon": "Beirut",
    "Lithuania": "Vilnius",
    "Malta": "Valletta",
    "Morocco": "Rabat",
    "Nepal": "Kathmandu",
    "Norway": "Oslo",
    "Oman": "Muscat",
    "Peru": "Lima",
    "Poland": "Warsaw",
    "Portugal": "Lisbon",
    "Qatar": "Doha",
    "Romania": "Bucharest",
    "Senegal": "Dakar",
    "Serbia": "Belgrade",
    "Slovakia": "Bratislava",
    "Slovenia": "Ljubljana",
    "Spain": "Madrid",
    "Sweden": "Stockholm",
    "Thailand": "Bangkok",
    "Tunisia": "Tunis",
    "Uganda": "Kampala",
    "Ukraine": "Kyiv",
    "Uruguay": "Montevideo",
    "Zambia": "Lusaka",
    "Zimbabwe": "Harare",
}

SYLLABLES = tuple(c + v for c in "bdfgklmnprstvz" for v in "aeiou")


def _arithmetic(wording: str, calculate: Callable[..., int]) -> Form:
    method = "Do what is in brackets first, then multiply, then add and subtract."
    solve = _number(calculate)
    return Form(
        TaskFamily.ARITHMETIC,
        wording,
        NUMBERS,
        solve,
        says(method),
        takes_any_number=True,
    )


def _units(wording: str, big: str) -> Form:
    small, factor = SMALLER_UNITS[big]
    return Form(
        TaskFamily.UNITS,
        wording.replace("{big}", big).replace("{small}", small),
        {"n": range(2, 1000)},
        lambda values: str(int(values["n"]) * factor),
        says("Find how many of the smaller unit the larger one has, then multiply."),
        takes_any_number=True,
    )


def _reversal(wording: str) -> Form:
    return Form(
        TaskFamily.REVERSAL,
        wording,
        dict.fromkeys(("x", "y", "z"), SYLLABLES),
        lambda v: f"{v['x']}{v['y']}{v['z']}"[::-1],
        says("Number the letters, then write them from the last to the first."),
        # A right answer begins with a vowel, these begin with a consonant.
        lambda v: (f"{v['x']}{v['y']}{v['z']}", f"{v['y']}{v['z']}{v['x']}"),
    )


def _capital(wording: str) -> Form:
    return Form(
        TaskFamily.CAPITALS,
        wording,
        {"k": tuple(CAPITALS)},
        lambda v: CAPITALS[v["k"]],
        says("Recall the country's seat of government, not its largest city."),
        lambda v: tuple(c for k, c in CAPITALS.items() if k != v["k"]),
    )


def _two_capitals(wording: str) -> Form:
    def solve(v: Values) -> str | None:
        return None if v["k"] == v["l"] else f"{CAPITALS[v['k']]}, {CAPITALS[v['l']]}"

    return Form(
        TaskFamily.CAPITALS,
        wording,
        {"k": tuple(CAPITALS), "l": tuple(CAPITALS)},
        solve,
        says("Recall each country's seat of government, and keep the order."),
        lambda v: (f"{CAPITALS[v['l']]}, {CAPITALS[v['k']]}",),
    )


def _story(
    wording: str,
    calculate: Callable[..., int],
    method: str,
    more: Mapping[str, Sequence[object]],
) -> Form:
    values = {"a": TWO_DIGITS, "c": FACTORS, **more}

    def solve(given: Values) -> str | None:
        answer = calculate(**{name: int(value) for name, value in given.items()})
        return None if answer < 0 else str(answer)

    return Form(
        TaskFamily.WORD_PROBLEMS,
        wording,
        values,
        solve,
        says(method),
        takes_any_number=True,
    )


def _program(
    code: str, calculate: Callable[..., int], values: Mapping[str, Sequence[object]]
) -> Form:
    wording = f"What does this Python program print?\n\n{code}"
    method = "Write down the value of every variable after each line."
    return Form(
        TaskFamily.TRACING,
        wording,
        values,
        _number(calculate),
        says(method),
        takes_any_number=True,
    )


FORMS: tuple[Form, ...] = (
    _arithmetic("What is {a} + {b} - {c}?", lambda a, b, c: a + b - c),
    _arithmetic("Compute {a} * {c} - {b}.", lambda a, b, c: a * c - b),
    _arithmetic("Calculate ({a} + {b}) * {c}.", lambda a, b, c: (a + b) * c),
    *(
        _units(wording, big)
        for wording in (
            "Convert {n} {big} to {small}.",
            "How many {small} are {n} {big}?",
            "Express {n} {big} in {small}.",
        )
        for big in SMALLER_UNITS
    ),
    _reversal("Write the made-up word {x}{y}{z} backwards."),
    _reversal("Reverse the letters of {x}{y}{z}."),
    _reversal("Spell {x}{y}{z} from its last letter to its first."),
    _capital("What is the capital of {k}?"),
    _capital("Name the capital city of {k}."),
    _two_capitals("Name the capitals of {k} and {l}, in this order."),
    _story(
        "A shop has {a} boxes of {c} pens and sells {d} pens. How many pens are left?",
        lambda a, c, d: a * c - d,
        "Multiply the boxes by the pens in each, then subtract the pens sold.",
        {"d": FEW},
    ),
    _story(
        "Ann reads {c} pages a day for {a} days, and Bob reads {b} pages in all. How "
        "many pages do they read together?",
        lambda a, b, c: a * c + b,
        "Multiply Ann's pages a day by her days, then add Bob's pages.",
        {"b": TWO_DIGITS},
    ),
    _story(
        "A theatre has {a} rows of {c} chairs, and {d} chairs are broken. How many "
        "chairs can be used?",
        lambda a, c, d: a * c - d,
        "Multiply the rows by the chairs in each, then subtract the broken chairs.",
        {"d": FEW},
    ),
    _program(
        "s = {a}\nfor i in range({c}):\n    s += i\nprint(s)",
        lambda a, c: a + c * (c - 1) // 2,
        {"a": range(10, 1000), "c": FACTORS},
    ),
    _program(
        "x = {b} % {c}\nprint(x * {a})",
        lambda a, b, c: b % c * a,
        NUMBERS,
    ),
    _program(
        "n = {a}\nk = 0\nwhile n > {c}:\n    n -= {c}\n    k += {b}\nprint(k)",
        lambda a, b, c: -(-(a - c) // c) * b,
        NUMBERS,
    ),
)
"""All wordings. `{c}` twice in a wording is one value."""
