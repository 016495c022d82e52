"""The kinds of verifiers, as a task names them. A new kind is a class in `Verifier`.

What a verifier holds is checked when a suite is read; `grade` looks at nothing but the
answer, and raises nothing but what `model_graded` and `unit_tests` say.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, Literal

import orjson
from django.utils.translation import gettext_noop as _
from pydantic import AfterValidator, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from apps.core.input_parts import InputPart, pattern_compiled, regular_expression
from apps.engine.schemas import Checker, TooComplex
from apps.engine.text import without_fences
from apps.evaluation.verifiers.grade import RIGHT, Grade
from apps.evaluation.verifiers.model_graded import ModelGradedVerifier
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier
from apps.planners.final_answer import final_answer

MAX_ANSWER = 10_000
"""Characters of a right answer."""
MAX_PATTERN = 2_000
MAX_EXPONENT = 400
"""Of a number; beyond any answer, and far within what can be calculated with."""
NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")
FRACTION = re.compile(r"([-+−]?\d+)\s*/\s*(\d+)")
SPACE = re.compile(r"\s+")
LETTER = re.compile(r"\(?\b([A-Z])\b\)?")
NOTATION = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\\(?:left|right|displaystyle)(?![A-Za-z])", ""),
        (r"\\[!,;:> ]", ""),
        (r"\\[dt]frac(?![A-Za-z])", r"\\frac"),
        (r"\\(?:text|mathrm|mbox|textbf)\s*\{([^{}]*)\}", r"\1"),
        (r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![A-Za-z]))", ""),
        (r"\\frac\s*(\d)\s*(\d)", r"\\frac{\1}{\2}"),
        (r"\\[$%]|[$%]", ""),
        (r"\s+", ""),
    )
)
"""Differences of notation that do not count, in order."""
Text = Annotated[str, StringConstraints(min_length=1, max_length=MAX_ANSWER)]


class ExactVerifier(InputPart):
    """The final answer is one of these texts; white space counts as one space."""

    kind: Literal["exact"]
    answer: Text | Annotated[tuple[Text, ...], Field(min_length=1, max_length=50)]
    ignore_case: bool = True

    def grade(self, text: str) -> Grade:
        """Compare the final answer."""
        wanted = (self.answer,) if isinstance(self.answer, str) else self.answer
        found = self._normal(final_answer(text))
        if any(found == self._normal(answer) for answer in wanted):
            return RIGHT
        return Grade(False, _("the final answer is another one"))

    def _normal(self, text: str) -> str:
        joined = SPACE.sub(" ", text).strip()
        return joined.casefold() if self.ignore_case else joined


def _number(text: str) -> Decimal | None:
    """Return the number that `text` is; None: it is none, or not a finite one."""
    plain = text.replace("−", "-").replace(",", "").strip().strip("$€£% ")
    if match := FRACTION.fullmatch(plain):
        below = Decimal(match[2])
        return Decimal(match[1]) / below if below else None
    try:
        value = Decimal(plain)
    except InvalidOperation:
        return None
    usable = value.is_finite() and abs(value.adjusted()) <= MAX_EXPONENT
    return value if usable else None


def last_number(text: str) -> Decimal | None:
    """Return the number that a text is, or the last one in it; None: it has none."""
    if (whole := _number(text)) is not None:
        return whole
    numbers = [found for found in NUMBER.findall(text) if any(map(str.isdigit, found))]
    return _number(numbers[-1]) if numbers else None


def _is_number(text: str) -> str:
    if _number(text) is None:
        raise PydanticCustomError("number", "must be a number, such as 42 or 3/4")
    return text


class NumericVerifier(InputPart):
    """The final answer is a number, as near to the right one as `tolerance` says."""

    kind: Literal["numeric"]
    answer: Annotated[
        str,
        Field(coerce_numbers_to_str=True, max_length=100),
        AfterValidator(_is_number),
    ]
    tolerance: Annotated[Decimal, Field(ge=0)] = Decimal(0)
    """The most by which they may differ."""
    relative_tolerance: Annotated[Decimal, Field(ge=0, le=1)] = Decimal(0)
    """The same, as a share of the right answer. The larger of the two counts."""

    def grade(self, text: str) -> Grade:
        """Compare the final answer, or the last number in it."""
        found = last_number(final_answer(text))
        if found is None:
            return Grade(False, _("the final answer holds no number"))
        wanted = _number(self.answer)
        assert wanted is not None  # checked when the suite was read
        allowed = max(self.tolerance, abs(wanted) * self.relative_tolerance)
        if abs(found - wanted) <= allowed:
            return RIGHT
        return Grade(False, _("the number is another one"))


class ChoiceVerifier(InputPart):
    """The final answer names one letter, such as `B`, or the text of that choice."""

    kind: Literal["choice"]
    answer: Annotated[str, StringConstraints(pattern=r"^[A-Z]$")]
    choices: Annotated[tuple[Text, ...], Field(max_length=26)] = ()
    """The texts of A, B, C and so on. Empty: only the letter counts."""

    @model_validator(mode="after")
    def _answer_is_a_choice(self) -> ChoiceVerifier:
        if self.choices and self._place >= len(self.choices):
            raise PydanticCustomError("choice", "the answer is not among the choices")
        return self

    @property
    def _place(self) -> int:
        return ord(self.answer) - ord("A")

    def grade(self, text: str) -> Grade:
        """Compare the letter; two different letters are no answer."""
        found = final_answer(text)
        if self.choices and found.casefold() == self.choices[self._place].casefold():
            return RIGHT
        letters = set(LETTER.findall(found))
        if letters == {self.answer}:
            return RIGHT
        if not letters:
            return Grade(False, _("the final answer names no choice"))
        return Grade(False, _("another choice, or more than one, is named"))


class PatternVerifier(InputPart):
    """A regular expression of RE2 matches somewhere in the answer."""

    kind: Literal["pattern"]
    pattern: Annotated[
        str,
        StringConstraints(min_length=1, max_length=MAX_PATTERN),
        AfterValidator(regular_expression),
    ]

    def grade(self, text: str) -> Grade:
        """Search the whole answer."""
        if pattern_compiled(self.pattern).search(text):
            return RIGHT
        return Grade(False, _("the pattern does not match"))


def _is_schema(schema: dict[str, Any]) -> dict[str, Any]:
    try:
        Checker(orjson.dumps(schema))
    except (ValueError, orjson.JSONEncodeError) as exc:
        raise PydanticCustomError("schema", "{why}", {"why": str(exc)}) from None
    return schema


class JsonSchemaVerifier(InputPart):
    """The answer is JSON, with or without a code fence, that fits a schema."""

    kind: Literal["json_schema"]
    rules: Annotated[dict[str, Any], Field(alias="schema"), AfterValidator(_is_schema)]

    def grade(self, text: str) -> Grade:
        """Check the answer by the schema."""
        written = without_fences(text.strip())
        try:
            value = orjson.loads(written)
            # One of its own: checkers are not for two threads at once.
            checker = Checker(orjson.dumps(self.rules))
            problems = checker.problems(value, size=len(written))
        except orjson.JSONDecodeError as exc:
            return Grade(False, f"it is not JSON: {exc.msg} at {exc.pos + 1}")
        except TooComplex:
            return Grade(False, _("it is too long or too deeply nested to be checked"))
        return Grade(False, "; ".join(problems)) if problems else RIGHT


class LatexVerifier(InputPart):
    """The final answer is the same mathematical text, or the same number.

    Spaces, sizes of brackets and fractions, units of degrees, dollars and percent do
    not count. Another notation for the same value does: `1/2` is not `0.5`, unless
    both are plain numbers.
    """

    kind: Literal["latex"]
    answer: Text

    def grade(self, text: str) -> Grade:
        """Compare the final answer."""
        found, wanted = _mathematical(final_answer(text)), _mathematical(self.answer)
        if found == wanted:
            return RIGHT
        numbers = _number(found), _number(wanted)
        if None not in numbers and numbers[0] == numbers[1]:
            return RIGHT
        return Grade(
            False, _("the final answer is another one, or is written otherwise")
        )


def _mathematical(text: str) -> str:
    """Return a mathematical text without what does not change its meaning."""
    for pattern, replacement in NOTATION:
        text = pattern.sub(replacement, text)
    return text.rstrip(".")


Verifier = Annotated[
    ExactVerifier
    | LatexVerifier
    | NumericVerifier
    | ChoiceVerifier
    | PatternVerifier
    | JsonSchemaVerifier
    | ModelGradedVerifier
    | UnitTestsVerifier,
    Field(discriminator="kind"),
]
