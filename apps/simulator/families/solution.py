"""A solved question: the right claim, and the mistakes a worker may make."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Family(StrEnum):
    """A kind of question whose answer can be checked."""

    ARITHMETIC = "arithmetic"
    """Calculations with numbers."""
    DATES = "dates"
    """Days between dates, weekdays, adding days."""
    UNITS = "units"
    """Conversions of length, mass, temperature, time and data."""
    TEXT = "text"
    """Operations on a given word or sentence."""
    FACTS = "facts"
    """Things to recall."""
    STORIES = "stories"
    """Calculations told as a story."""
    TRACING = "tracing"
    """What a short program prints."""
    CODE = "code"
    """Small Python functions."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An answer and how one gets there; either may be wrong."""

    answer: str
    """The short answer; for code, the program."""
    working: str = ""
    """Markdown that leads to `answer`."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Everything a worker may say about a question it can solve."""

    family: Family
    right: Claim
    slips: tuple[Claim, ...]
    """Plausible wrong claims; none has the right answer."""


def solution(family: Family, right: Claim, slips: tuple[Claim, ...]) -> Solution:
    """Return the solution, without slips that happen to be right or repeat another."""
    distinct = {slip.answer: slip for slip in slips if slip.answer != right.answer}
    return Solution(family, right, tuple(distinct.values()))
