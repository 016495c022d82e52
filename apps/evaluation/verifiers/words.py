"""Verifiers in words for people, and the right answers as texts."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.evaluation.verifiers.kinds import (
    ChoiceVerifier,
    ExactVerifier,
    JsonSchemaVerifier,
    LatexVerifier,
    NumericVerifier,
    PatternVerifier,
    Verifier,
)
from apps.evaluation.verifiers.model_graded import ModelGradedVerifier
from apps.evaluation.verifiers.unit_tests import UnitTestsVerifier

LONGEST = 300
"""Characters of a part of a sentence; the rest is cut."""


def right_answers(verifier: Verifier) -> list[str]:
    """Return the right answers that a verifier names; empty: it names none."""
    match verifier:
        case ExactVerifier(answer=str(answer)):
            return [answer]
        case ExactVerifier(answer=answers):
            return list(answers)
        case NumericVerifier() | LatexVerifier() | ChoiceVerifier():
            return [verifier.answer]
        case ModelGradedVerifier(reference=reference) if reference:
            return [reference]
    return []


def verifier_words(verifier: Verifier) -> str:
    """Return a sentence that says which answer is right."""
    match verifier:
        case ExactVerifier():
            said = _("The final answer is {answers}, in the same case.")
            if verifier.ignore_case:
                said = _("The final answer is {answers}.")
            return said.format(answers=_either(map(_short, right_answers(verifier))))
        case NumericVerifier():
            said = _("The final answer is the number {number}.")
            return said.format(number=f"{verifier.answer}{_near(verifier)}")
        case ChoiceVerifier():
            said = _("The final answer is choice {choice}.")
            return said.format(choice=f"{verifier.answer}{_choice(verifier)}")
        case PatternVerifier():
            said = _("The pattern {pattern} matches in the answer.")
            return said.format(pattern=_short(verifier.pattern))
        case JsonSchemaVerifier():
            return _("The answer is JSON that fits a schema.")
        case LatexVerifier():
            said = _("The final answer is {answer} in LaTeX.")
            return said.format(answer=_short(verifier.answer))
        case ModelGradedVerifier():
            said = _("A model judges: {rubric}.")
            return said.format(rubric=_short(verifier.rubric))
        case UnitTestsVerifier():
            return _tests(verifier)


def _near(verifier: NumericVerifier) -> str:
    within = []
    if verifier.tolerance:
        within.append(f"± {verifier.tolerance}")
    if verifier.relative_tolerance:
        within.append(f"± {100 * verifier.relative_tolerance:f} %")
    return f" {_either(within)}" if within else ""


def _choice(verifier: ChoiceVerifier) -> str:
    if not verifier.choices:
        return ""
    return f", {_short(verifier.choices[ord(verifier.answer) - ord('A')])}"


def _tests(verifier: UnitTestsVerifier) -> str:
    count = len(verifier.cases)
    whose = verifier.entry_point
    what = ngettext("{count} case", "{count} cases", count) if count else _("its tests")
    said = _("Code passes {what}, within {seconds} s of processor time.")
    if whose:
        said = _(
            "The function {name} passes {what}, within {seconds} s of processor time."
        )
    return said.format(
        name=whose, what=what.format(count=count), seconds=verifier.time_s
    )


def _either(parts: Iterable[str]) -> str:
    return _(" or ").join(parts)


def _short(text: str) -> str:
    plain = " ".join(text.split())
    text = plain if len(plain) <= LONGEST else f"{plain[:LONGEST]}…"
    return _("“{text}”").format(text=text)
