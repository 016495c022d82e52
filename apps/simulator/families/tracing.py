"""What a short program prints: a few statements of Python with whole numbers.

The program is read, never run by Python: only what is named here happens, and no more
than `MAX_STEPS` statements of it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from apps.simulator.families.solution import Claim, Family, Solution, solution

MAX_STEPS = 10_000
MAX_NUMBER = 10**30
MAX_PROGRAM = 600
"""Characters."""
MAX_PRINTED = 20
SLIPS = (10, -1, 2)
ASKS = re.compile(
    r"what (?:does this (?:python )?(?:program|code|script) (?:print|output)"
    r"|is the output of this (?:python )?(?:program|code|script))\s?\?\s(?P<code>.+)",
    re.I | re.DOTALL,
)
FENCE = "```"
OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class BeyondTracing(ValueError):
    """The program does something that is not known here, or too much of it."""


def solve(text: str) -> Solution | None:
    """Return what the program in a text prints, if the text asks for it."""
    asked = ASKS.fullmatch(text.strip())
    if asked is None or len(asked["code"]) > MAX_PROGRAM:
        return None
    code = asked["code"].strip()
    if code.startswith(FENCE) and code.endswith(FENCE):
        code = "\n".join(code.split("\n")[1:-1])
    try:
        printed = _Trace().printed(ast.parse(code))
    except (BeyondTracing, SyntaxError, ValueError, ArithmeticError, RecursionError):
        return None
    if not printed:
        return None
    *before, last = printed
    wrong = [", ".join([*before, str(int(last) + slip)]) for slip in SLIPS]
    working = "Each statement in turn, until the last line is printed."
    right = Claim(", ".join(printed), working)
    return solution(Family.TRACING, right, tuple(map(Claim, wrong)))


class _Trace:
    """The names of a program, what it has printed, and how much it has done."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._printed: list[str] = []
        self._steps = 0

    def printed(self, program: ast.Module) -> list[str]:
        """Return what a program prints, line by line. Raises: BeyondTracing."""
        self._run(program.body)
        return self._printed

    def _run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._steps += 1
            if self._steps > MAX_STEPS or len(self._printed) > MAX_PRINTED:
                raise BeyondTracing
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._values[name] = self._value(value)
            case ast.AugAssign(target=ast.Name(id=name), op=sign, value=value):
                now = self._values.get(name)
                self._values[name] = self._operated(sign, now, self._value(value))
            case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
                for number in self._numbers(over):
                    self._values[name] = number
                    self._run(body)
            case ast.While(test=test, body=body, orelse=[]):
                while self._value(test):
                    self._run(body)
            case ast.If(test=test, body=body, orelse=others):
                self._run(body if self._value(test) else others)
            case ast.Expr(ast.Call(ast.Name("print"), args=[value], keywords=[])):
                self._printed.append(str(self._value(value)))
            case _:
                raise BeyondTracing

    def _numbers(self, over: ast.expr) -> Iterable[int]:
        match over:
            case ast.Call(ast.Name("range"), args=ends, keywords=[]) if ends:
                return range(*map(self._value, ends))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self._value(part) for part in parts]
        raise BeyondTracing

    def _value(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return int(number)
            case ast.Name(id=name) if name in self._values:
                return self._values[name]
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return -self._value(part)
            case ast.BinOp(left=left, op=sign, right=right):
                return self._operated(sign, self._value(left), self._value(right))
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                compare = COMPARISONS.get(type(sign))
                if compare is not None:
                    return int(compare(self._value(left), self._value(right)))
        raise BeyondTracing

    def _operated(self, sign: ast.operator, left: int | None, right: int) -> int:
        operate = OPERATIONS.get(type(sign))
        if operate is None or left is None:
            raise BeyondTracing
        result = operate(left, right)
        if abs(result) > MAX_NUMBER:
            raise BeyondTracing
        return result
