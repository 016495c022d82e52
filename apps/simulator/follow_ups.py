"""Follow-ups: what the last turn of a conversation wants, by the turns before it.

A program that was answered is changed as it stands there, with the faults it has.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apps.simulator.briefing import turns
from apps.simulator.families import programs
from apps.simulator.families.programs import Program

MAX_PROGRAM = 4_000
"""Characters of a program that is changed."""
MAX_WISH = 300
"""Characters of a follow-up; a longer one wants more than one change."""
PROGRAM = re.compile(r"```python\n((?:(?!\n?```).)*+)\n```", re.DOTALL)
RENAMING = re.compile(r"\b(?:renam|call (?:it|the)|name it)", re.IGNORECASE)
NEW_NAMES = (
    re.compile(r"\bto\s[`'\"“]?(?P<name>[A-Za-z_]\w{0,60})", re.IGNORECASE),
    re.compile(
        r"\b(?:it|function)\s[`'\"“]?(?P<name>[A-Za-z_]\w{0,60})", re.IGNORECASE
    ),
)
"""Places of a new name; the first that is there counts."""
WHY = re.compile(
    r"\b(?:explain|why|are you sure|check (?:it|that|this)"
    r"|is (?:it|that|this) (?:right|correct)"
    r"|how (?:does|did|do|is|was)\b.*\b(?:it|this|that|you)"
    r"|(?:show|give) (?:me )?(?:the|your) (?:steps|working|reason\w*))\b",
    re.IGNORECASE,
)
ELLIPSIS = re.compile(r"(?:and|what about|how about|now)\s(?P<rest>.+)", re.IGNORECASE)
CALL = re.compile(r"(?:with\s+)?(?P<call>(?P<name>\w+)\([^()]*\))")
NUMBERED = re.compile(r"(?P<number>\d{1,9})(?: (?P<noun>[a-z]{2,30}))?", re.IGNORECASE)
OTHER_NUMBER = re.compile(
    r"\b(?:what if|if|with|instead|now|what about|how about|and)\b", re.IGNORECASE
)
RESULT = re.compile(r"\*\*(?P<number>-?\d[\d,]{0,30}(?:\.\d{1,20})?)\b")
ON_RESULT = (
    (re.compile(r"\b(?:double|twice) (?:it|that)\b", re.IGNORECASE), "{result} * 2"),
    (re.compile(r"\bhalf of (?:it|that)\b", re.IGNORECASE), "{result} / 2"),
    (
        re.compile(
            r"\b(?:multiply (?:it|that) by|times) (?P<n>\d{1,9})", re.IGNORECASE
        ),
        "{result} * {n}",
    ),
    (
        re.compile(r"\bdivide (?:it|that) by (?P<n>\d{1,9})", re.IGNORECASE),
        "{result} / {n}",
    ),
    (re.compile(r"\b(?:add|plus) (?P<n>\d{1,9})", re.IGNORECASE), "{result} + {n}"),
    (
        re.compile(r"\b(?:subtract|minus) (?P<n>\d{1,9})", re.IGNORECASE),
        "{result} - {n}",
    ),
)
"""What a follow-up does with the number of the answer before."""
PART = re.compile(r"(?P<word>of|in|to|for|from)\s+(?P<what>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RevisedProgram:
    """A program after a follow-up."""

    code: str
    note: str
    """What was done to it, as a sentence."""

    @property
    def text(self) -> str:
        """Return the answer in Markdown."""
        return f"```python\n{self.code}\n```\n\n{self.note}"


@dataclass(frozen=True, slots=True)
class _Answered:
    """The program of the last answer, and what it is."""

    code: str
    function: ast.FunctionDef
    known: Program

    @property
    def name(self) -> str:
        return self.function.name

    def renamed(self, code: str) -> str:
        """Return code of the known program under the name that it has by now."""
        return _renamed(code, self.known.name, self.name)


Change = Callable[[_Answered, str], RevisedProgram | None]
"""Takes the program and the follow-up; None: not with this follow-up."""


def revised(question: str) -> RevisedProgram | None:
    """Return the last program of a conversation as its last turn wants it.

    None: the last turn wants nothing that is known here, or there is no program.
    """
    *before, (who, wish) = turns(question) or (("", ""),)
    if who != "User" or len(wish) > MAX_WISH:
        return None
    answered = _answered(before)
    if answered is None:
        return None
    changes = (change(answered, wish) for change in CHANGES)
    return next((change for change in changes if change is not None), None)


def meant(question: str) -> tuple[str, ...]:
    """Return the questions that the last turn may stand for, by the turns before it.

    "Why?" stands for the question before; "And of Norway?" for that question with
    Norway in it.
    """
    *before, (who, wish) = turns(question) or (("", ""),)
    if who != "User" or len(wish) > MAX_WISH:
        return ()
    questions = (text for who, text in reversed(before) if who == "User")
    last = next((text for text in questions if not WHY.search(text)), "")
    if last and WHY.search(wish):
        return (last,)
    if not last:
        return ()
    match = ELLIPSIS.fullmatch(wish.strip())
    completed = _completed(last, match["rest"].strip("?.! ")) if match else ()
    answers = (text for who, text in reversed(before) if who == "Assistant")
    calculated = _calculated(next(answers, ""), wish)
    return (*calculated, *completed, *_with_other_number(last, wish))


def _calculated(answer: str, wish: str) -> Iterator[str]:
    """Yield what a wish asks of the number that the last answer stated first."""
    stated = RESULT.search(answer)
    for pattern, expression in ON_RESULT if stated else ():
        if stated and (found := pattern.search(wish)):
            result = stated["number"].replace(",", "")
            yield f"What is {expression.format(result=result, **found.groupdict())}?"


def _with_other_number(last: str, wish: str) -> Iterator[str]:
    """Yield a question with the one number that a wish names in the place of its own.

    The number after the same word, or before the same noun, is the one that is meant;
    of a bare number, that of a question that has no other.
    """
    named = list(NUMBERED.finditer(wish))
    if len(named) != 1 or not OTHER_NUMBER.search(wish):
        return
    number, noun = named[0]["number"], named[0]["noun"]
    before = wish[: named[0].start()].split()[-1:]
    if before and noun:
        yield from _replaced(last, rf"(?<=\b{re.escape(before[0])} )\d+", number)
    if noun:
        yield from _replaced(last, rf"\b\d+(?= {re.escape(noun)}\b)", number)
    if len(re.findall(r"\d+", last)) == 1:
        yield from _replaced(last, r"\d+", number)


def _replaced(last: str, old: str, number: str) -> Iterator[str]:
    changed = re.sub(old, number, last, count=1, flags=re.IGNORECASE)
    if changed != last:
        yield changed


def _completed(last: str, rest: str) -> Iterator[str]:
    yield f"What is {rest}?"
    if call := CALL.fullmatch(rest):
        old = rf"\b{re.escape(call['name'])}\([^()]*\)"
        yield re.sub(old, lambda _: call["call"], last)
    if part := PART.fullmatch(rest):
        same = "to|in" if part["word"].lower() in ("to", "in") else part["word"]
        old = rf"\b({same})\s[^?.,;:]+(?=[?.,;:]|$)"
        yield re.sub(old, lambda found: f"{found[1]} {part['what']}", last)


def _answered(before: list[tuple[str, str]]) -> _Answered | None:
    questions = (text for who, text in reversed(before) if who == "User")
    known = next((p for text in questions if (p := programs.find(text))), None)
    answers = (text for who, text in reversed(before) if who == "Assistant")
    blocks = (block for text in answers if (block := PROGRAM.search(text)))
    code = block[1] if (block := next(blocks, None)) else ""
    if known is None or not 0 < len(code) <= MAX_PROGRAM:
        return None
    try:
        functions = [n for n in ast.parse(code).body if isinstance(n, ast.FunctionDef)]
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _Answered(code, functions[0], known) if functions else None


def _renamed(code: str, before: str, after: str) -> str:
    return re.sub(rf"\b{re.escape(before)}\b", after, code)


def _rename(answered: _Answered, wish: str) -> RevisedProgram | None:
    matches = (pattern.search(wish) for pattern in NEW_NAMES)
    name = next((match["name"] for match in matches if match), "")
    if not RENAMING.search(wish) or not name or keyword.iskeyword(name):
        return None
    code = _renamed(answered.code, answered.name, name)
    return RevisedProgram(code, f"`{answered.name}` is called `{name}` now.")


def _test(answered: _Answered, wish: str) -> RevisedProgram | None:
    if not re.search(r"\b(?:unit )?tests?\b|\basserts?\b", wish, re.IGNORECASE):
        return None
    checks = "\n".join(
        f"    assert {answered.renamed(call)} == {result}"
        for call, result in answered.known.examples
    )
    code = f"{answered.code}\n\n\ndef test_{answered.name}() -> None:\n{checks}"
    number = len(answered.known.examples)
    return RevisedProgram(code, f"The test makes {number} calls; pytest runs it.")


def _recurse(answered: _Answered, wish: str) -> RevisedProgram | None:
    if not re.search(r"\brecursi", wish, re.IGNORECASE):
        return None
    if _calls_itself(answered):
        return RevisedProgram(answered.code, "It is recursive already.")
    code = answered.renamed(answered.known.recursive)
    return RevisedProgram(code, "It calls itself now, in place of a loop.")


def _iterate(answered: _Answered, wish: str) -> RevisedProgram | None:
    if not re.search(r"\biterati|\bloops?\b", wish, re.IGNORECASE):
        return None
    if not _calls_itself(answered):
        note = "It is iterative already: it does not call itself."
        return RevisedProgram(answered.code, note)
    code = answered.renamed(answered.known.code)
    return RevisedProgram(code, "It no longer calls itself.")


def _refuse_negatives(answered: _Answered, wish: str) -> RevisedProgram | None:
    if not re.search(r"\bnegativ|\bbelow (?:0|zero)\b", wish, re.IGNORECASE):
        return None
    numbers = [
        argument.arg
        for argument in answered.function.args.args
        if isinstance(argument.annotation, ast.Name) and argument.annotation.id == "int"
    ]
    if not numbers:
        return RevisedProgram(answered.code, "It takes no single number.")
    guard = f"if {numbers[0]} < 0:"
    if guard in answered.code:
        return RevisedProgram(answered.code, "It refuses negative numbers already.")
    first = next(n for n in answered.function.body if not _is_docstring(n))
    lines = answered.code.split("\n")
    error = f'raise ValueError("{numbers[0]} must not be negative")'
    lines[first.lineno - 1 : first.lineno - 1] = [f"    {guard}", f"        {error}"]
    return RevisedProgram("\n".join(lines), "A negative number is an error now.")


def _document(answered: _Answered, wish: str) -> RevisedProgram | None:
    if not re.search(r"\bdocstring|\btype hints?|\bannotat|\btyped\b", wish, re.I):
        return None
    arguments = answered.function.args.args
    is_typed = answered.function.returns and all(a.annotation for a in arguments)
    has_docstring = ast.get_docstring(answered.function) is not None
    present = ["type hints"] * bool(is_typed) + ["a docstring"] * has_docstring
    note = f"It has {' and '.join(present)} already." if present else ""
    return RevisedProgram(answered.code, note) if note else None


def _explain(answered: _Answered, wish: str) -> RevisedProgram | None:
    if not WHY.search(wish):
        return None
    calls = "; ".join(
        f"`{answered.renamed(call)}` is `{result}`"
        for call, result in answered.known.examples
    )
    how = answered.known.plan
    if _calls_itself(answered):
        how = f"`{answered.name}` calls itself with less until nothing is left to do."
    return RevisedProgram(answered.code, f"{how} So {calls}.")


def _calls_itself(answered: _Answered) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == answered.name
        for node in ast.walk(answered.function)
    )


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


CHANGES: tuple[Change, ...] = (
    _rename,
    _test,
    _recurse,
    _iterate,
    _refuse_negatives,
    _document,
    _explain,
)
