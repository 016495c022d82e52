"""Verifiers in words for people, and the right answers as texts. Pure."""

from __future__ import annotations

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
            answers = " or ".join(map(_short, right_answers(verifier)))
            case_words = "" if verifier.ignore_case else ", in the same case"
            return f"The final answer is {answers}{case_words}."
        case NumericVerifier():
            return f"The final answer is the number {verifier.answer}{_near(verifier)}."
        case ChoiceVerifier():
            return f"The final answer is choice {verifier.answer}{_choice(verifier)}."
        case PatternVerifier():
            return f"The pattern {_short(verifier.pattern)} matches in the answer."
        case JsonSchemaVerifier():
            return "The answer is JSON that fits a schema."
        case LatexVerifier():
            return f"The final answer is {_short(verifier.answer)} in LaTeX."
        case ModelGradedVerifier():
            return f"A model judges: {_short(verifier.rubric)}."
        case UnitTestsVerifier():
            return _tests(verifier)


def _near(verifier: NumericVerifier) -> str:
    within = []
    if verifier.tolerance:
        within.append(f"± {verifier.tolerance}")
    if verifier.relative_tolerance:
        within.append(f"± {100 * verifier.relative_tolerance:f} %")
    return f" {' or '.join(within)}" if within else ""


def _choice(verifier: ChoiceVerifier) -> str:
    if not verifier.choices:
        return ""
    return f", {_short(verifier.choices[ord(verifier.answer) - ord('A')])}"


def _tests(verifier: UnitTestsVerifier) -> str:
    count = len(verifier.cases)
    what = f"{count} case{'' if count == 1 else 's'}" if count else "its tests"
    whose = f"The function {verifier.entry_point}" if verifier.entry_point else "Code"
    return f"{whose} passes {what}, within {verifier.time_s} s of processor time."


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return f"“{plain if len(plain) <= LONGEST else plain[:LONGEST] + '…'}”"
