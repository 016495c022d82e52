"""Calculations: finds the expression in a sentence and works it out exactly.

Understands + - * / ^, parentheses, unary minus and percentages, also in words
("15 percent of 80", "3 times 4"). Values are fractions, so nothing is rounded before
the end. Size and depth are bounded, whatever is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from apps.simulator.families.numbers import plain
from apps.simulator.families.solution import Claim, Family, Solution, solution

MAX_LENGTH = 300
"""Characters of an expression."""
MAX_DEPTH = 30
"""Nested parentheses."""
MAX_BITS = 4096
"""Size of a power's result."""

WORDS = (
    (r"[×·∙]|\bmultiplied by\b|\btimes\b", "*"),
    (r"÷|\bdivided by\b|\bover\b", "/"),
    (r"[−–]|\bminus\b", "-"),
    (r"\bplus\b", "+"),
    (r"\*\*|\b(?:raised )?to the power (?:of )?", "^"),
    (r"\bsquared\b", "^2"),
    (r"\bcubed\b", "^3"),
    (r"\bper ?cent\b", "%"),
    (r"%\s*(?:(?:vat|tax|tip|interest)\s+)?(?:of|on)\b", "%*"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
)
ASKS = re.compile(
    r"\b(?:what(?:'s| is| are)|calculate|compute|evaluate|work out|solve|how much|"
    r"result|value|simplify)\b|=",
    re.IGNORECASE,
)
CANDIDATE = re.compile(r"(?<![-+(\s])[-+(\s]*+\.?\d[\d\s.()+\-*/^%]*")
TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+|[-+*/^%()])")
SIGNS = {"+": "+", "-": "−", "*": "×", "/": "÷", "^": "^"}


class NotArithmetic(ValueError):
    """The text is no expression, or one too large to work out."""


class Undefined(ArithmeticError):
    """The expression has no value, for example a division by zero."""


@dataclass(frozen=True, slots=True)
class _Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class _Percent:
    part: _Node


@dataclass(frozen=True, slots=True)
class _Negative:
    part: _Node


@dataclass(frozen=True, slots=True)
class _Operation:
    sign: str
    left: _Node
    right: _Node


_Node = _Number | _Percent | _Negative | _Operation
_Rule = Callable[[], _Node]


def solve(text: str) -> Solution | None:
    """Return the solution of the calculation in `text`, if it asks for one."""
    expression = find_expression(text)
    if expression is None:
        return None
    steps: list[tuple[str, Fraction]] = []
    try:
        value = _evaluate(_Parser(expression).parse(), steps)
    except NotArithmetic:
        return None
    except Undefined as exc:
        claim = Claim("undefined", f"`{expression}` has no value: {exc}.")
        return Solution(Family.ARITHMETIC, claim, (Claim("0", ""),))
    return solution(
        Family.ARITHMETIC,
        Claim(plain(value), _working(expression, steps, value)),
        tuple(
            Claim(plain(wrong), _working(expression, steps, wrong))
            for wrong in _slips(value)
        ),
    )


def find_expression(text: str) -> str | None:
    """Return the longest expression in `text` that has something to work out."""
    normal = text
    for pattern, sign in WORDS:
        normal = re.sub(pattern, sign, normal, flags=re.IGNORECASE)
    found = [match.group().strip(" .\n\t") for match in CANDIDATE.finditer(normal)]
    usable = [part for part in found if _has_operator(part)]
    if not usable:
        return None
    longest = max(usable, key=len)
    is_bare = len(longest) >= len(normal.strip(" .?!\n\t"))
    return longest if is_bare or ASKS.search(text) else None


def _has_operator(part: str) -> bool:
    return len(re.findall(r"\d+", part)) > 1 and bool(re.search(r"\d\D*[-+*/^]", part))


class _Parser:
    """Recursive descent, one method per precedence."""

    def __init__(self, expression: str) -> None:
        if len(expression) > MAX_LENGTH:
            raise NotArithmetic("the expression is too long")
        self._tokens = self._split(expression)
        self._at = 0
        self._depth = 0

    @staticmethod
    def _split(expression: str) -> list[str]:
        tokens, at, text = [], 0, expression.strip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise NotArithmetic(f"unexpected character {text[at]!r}")
            tokens.append(match.group(1))
            at = match.end()
        return tokens

    def parse(self) -> _Node:
        node = self._sum()
        if self._at != len(self._tokens):
            raise NotArithmetic("something follows the expression")
        return node

    def _next_is(self, *tokens: str) -> str | None:
        if self._at < len(self._tokens) and self._tokens[self._at] in tokens:
            self._at += 1
            return self._tokens[self._at - 1]
        return None

    def _sum(self) -> _Node:
        node = self._product()
        while sign := self._next_is("+", "-"):
            node = _Operation(sign, node, self._product())
        return node

    def _product(self) -> _Node:
        node = self._signed()
        while sign := self._next_is("*", "/"):
            node = _Operation(sign, node, self._signed())
        return node

    def _signed(self) -> _Node:
        negations = 0
        while sign := self._next_is("-", "+"):
            negations += sign == "-"
        node = self._power()
        return _Negative(node) if negations % 2 else node

    def _power(self) -> _Node:
        base = self._percent()
        if self._next_is("^"):
            exponent = self._signed_exponent()
            return _Operation("^", base, exponent)
        return base

    def _signed_exponent(self) -> _Node:
        if self._next_is("-"):
            return _Negative(self._nested(self._power))
        return self._nested(self._power)

    def _percent(self) -> _Node:
        node = self._atom()
        while self._next_is("%"):
            node = _Percent(node)
        return node

    def _atom(self) -> _Node:
        if self._next_is("("):
            node = self._nested(self._sum)
            if not self._next_is(")"):
                raise NotArithmetic("a parenthesis is not closed")
            return node
        if self._at >= len(self._tokens):
            raise NotArithmetic("a number is missing at the end")
        token = self._tokens[self._at]
        if not token[-1].isdigit():
            raise NotArithmetic(f"expected a number, found {token!r}")
        self._at += 1
        return _Number(Fraction(token))

    def _nested(self, rule: _Rule) -> _Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotArithmetic("the expression is nested too deeply")
        node = rule()
        self._depth -= 1
        return node


def _evaluate(node: _Node, steps: list[tuple[str, Fraction]]) -> Fraction:
    match node:
        case _Number(value):
            return value
        case _Negative(part):
            return -_evaluate(part, steps)
        case _Percent(part):
            return _evaluate(part, steps) / 100
        case _Operation(sign, left, right):
            return _apply(sign, left, right, steps)


def _apply(
    sign: str, left: _Node, right: _Node, steps: list[tuple[str, Fraction]]
) -> Fraction:
    a = _evaluate(left, steps)
    b = _evaluate(right, steps)
    if sign in "+-" and isinstance(right, _Percent):
        b *= a  # "200 + 10%" means ten per cent of the 200
    match sign:
        case "+":
            value = a + b
        case "-":
            value = a - b
        case "*":
            value = a * b
        case "/":
            value = _quotient(a, b)
        case _:
            value = _power(a, b)
    steps.append((f"{_operand(a)} {SIGNS[sign]} {_operand(b)}", value))
    return value


def _quotient(a: Fraction, b: Fraction) -> Fraction:
    if b == 0:
        raise Undefined("it divides by zero")
    return a / b


def _power(a: Fraction, b: Fraction) -> Fraction:
    if b.denominator != 1:
        raise NotArithmetic("a fractional exponent")
    if a == 0 and b < 0:
        raise Undefined("zero has no negative power")
    size = max(a.numerator.bit_length(), a.denominator.bit_length())
    if size * abs(b.numerator) > MAX_BITS:
        raise NotArithmetic("the power is too large")
    return Fraction(a**b.numerator)


def _operand(value: Fraction) -> str:
    return f"({plain(value)})" if value < 0 else plain(value)


def _working(
    expression: str, steps: list[tuple[str, Fraction]], value: Fraction
) -> str:
    shown = [*((text, plain(result)) for text, result in steps[:-1])]
    shown.append((steps[-1][0], plain(value)))
    rows = "\n".join(f"| {text} | {result} |" for text, result in shown)
    head = f"Working out `{expression}` step by step:\n\n| Step | Result |\n|---|---|"
    return f"{head}\n{rows}"


def _slips(value: Fraction) -> tuple[Fraction, ...]:
    """Return near misses: a carry forgotten, one off, a sign, digits swapped."""
    near = [value + 10, value - 1, value * 10 if value else value + 1, value + 2]
    digits = str(abs(value.numerator))
    if value.denominator == 1 and len(digits) > 1 and digits[-1] != digits[-2]:
        swapped = Fraction(int(digits[:-2] + digits[-1] + digits[-2]))
        near.append(swapped if value > 0 else -swapped)
    return tuple(near)
