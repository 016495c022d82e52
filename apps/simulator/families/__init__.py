"""The kinds of questions simulated workers can really solve, each in one module.

Every family offers `solve(text)`: a `Solution`, or None if the text is not its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from apps.simulator.families import (
    arithmetic,
    dates,
    facts,
    programs,
    stories,
    tracing,
    units,
    words,
)
from apps.simulator.families.solution import Solution

MAX_QUESTION = 4000
"""Characters of a question the families look at; longer ones are no exercise."""
MAX_PARTS = 4
"""Questions that may be asked in one sentence."""
# The order matters: code speaks of strings and numbers, dates look like subtractions.
SOLVERS: tuple[Callable[[str], Solution | None], ...] = (
    tracing.solve,
    stories.solve,
    programs.solve,
    dates.solve,
    units.solve,
    words.solve,
    facts.solve,
    arithmetic.solve,
)
EXAMPLES = (
    "What is 17 * 23 + 4?",
    "How many days are between 2024-01-15 and 2024-03-01?",
    "Convert 5 km to miles",
    "Reverse the word 'orchestra'",
    "What is the capital of France?",
    "Write a Python function that returns the nth Fibonacci number",
)
_STARTS = (
    "what|how|who|which|convert|reverse|calculate|compute|write|sort|count|is|tell|give"
)
_BOUNDARY = re.compile(
    rf"(?<=[?!])\s+|;\s*|\n+(?:[-*\d.)\s]+)?|(?:,\s++|(?<![\s,])\s++)and\s++(?:also\s++)?(?=(?:{_STARTS})\b)",
    re.IGNORECASE,
)


@lru_cache(maxsize=2048)
def solve(text: str) -> Solution | None:
    """Return the solution of `text` by the first family that knows it."""
    if len(text) > MAX_QUESTION:
        return None
    for solver in SOLVERS:
        found = solver(text)
        if found is not None and found.slips:
            return found
    return None


@lru_cache(maxsize=2048)
def split(text: str) -> tuple[str, ...]:
    """Return the questions in `text` one by one if each can be solved, else nothing."""
    if len(text) > MAX_QUESTION:
        return ()
    parts = tuple(part.strip() for part in _BOUNDARY.split(text) if part.strip())
    if not 2 <= len(parts) <= MAX_PARTS:
        return ()
    return parts if all(solve(part) for part in parts) else ()
