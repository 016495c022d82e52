"""Matches models to needs, by what the conductor's prompt says of them.

Names and descriptions are used when they are shown. Anonymous models are all alike, so
work is spread over them, starting at a place that depends on the question.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import StrEnum

from apps.simulator.chance import draw
from apps.simulator.conductor_prompt import ListedModel
from apps.simulator.families.solution import Family
from apps.simulator.workers import BY_NAME


class Need(StrEnum):
    """What a step needs of its model."""

    ARITHMETIC = "arithmetic"
    """Careful calculation."""
    CODE = "code"
    """Programming."""
    FACTS = "facts"
    """Knowledge."""
    TEXT = "text"
    """Words and form; a small model will do."""
    GENERAL = "general"
    """Anything, quickly and cheaply."""
    STRONG = "strong"
    """Planning, judging, reviewing."""
    PLANNING = "planning"
    """Taking a task apart, for another model to do it."""
    CHECKING = "checking"
    """Finding and correcting what another model did wrong."""

    @classmethod
    def of(cls, family: Family) -> Need:
        """Return what a question of `family` needs."""
        return _NEEDS[family]

    @property
    def noun(self) -> str:
        """Return what a question with this need is called."""
        return _NOUNS[self]


_NEEDS = {
    Family.ARITHMETIC: Need.ARITHMETIC,
    Family.DATES: Need.ARITHMETIC,
    Family.UNITS: Need.ARITHMETIC,
    Family.STORIES: Need.ARITHMETIC,
    Family.TRACING: Need.ARITHMETIC,
    Family.TEXT: Need.TEXT,
    Family.FACTS: Need.FACTS,
    Family.CODE: Need.CODE,
}
_NOUNS = {
    Need.ARITHMETIC: "calculation",
    Need.CODE: "programming task",
    Need.FACTS: "matter of recall",
    Need.TEXT: "operation on a text",
    Need.GENERAL: "question",
    Need.STRONG: "question",
    Need.PLANNING: "task",
    Need.CHECKING: "check",
}
_WORDS = {
    Need.ARITHMETIC: r"\b(?:math|calculat|arithmetic|number|units?\b|dates?\b)",
    Need.CODE: r"\b(?:cod(?:e|ing)|program|python|software)",
    Need.FACTS: r"\b(?:fact|knowledge|recall|encyclop)",
    Need.TEXT: r"\b(?:text|words?\b|format|writ(?:e|ing)\b|language)",
    Need.GENERAL: r"\b(?:general|fast|cheap|quick)",
    Need.STRONG: r"\b(?:strong|planning|reason|review|best|expert)",
    Need.PLANNING: r"\b(?:planning|outlin|extract)",
    Need.CHECKING: r"\b(?:check|review|correct)",
}
_ABLE = re.compile(r"\b(?:everything|general|strong)", re.IGNORECASE)
SPECIALIST, ABLE = 3.0, 1.0
"""Points for the words a need looks for, and for a model that can do anything."""


class Chooser:
    """Picks models for one plan; prefers those not yet used among equals."""

    def __init__(
        self, models: tuple[ListedModel, ...], seed: int, question: str
    ) -> None:
        start = int(draw(seed, "spread", question) * len(models))
        self._models = models[start:] + models[:start]
        self._uses: Counter[int] = Counter()

    def best(self, need: Need, excluded: tuple[int, ...] = ()) -> int:
        """Return the id of the most suitable model outside `excluded`, if any is."""
        allowed = [m for m in self._models if m.id not in excluded] or self._models
        chosen = min(allowed, key=lambda m: (-score(m, need), self._uses[m.id]))
        self._uses[chosen.id] += 1
        return chosen.id


def score(model: ListedModel, need: Need) -> float:
    """Return how well `model` suits `need`; 0 if nothing is known of it."""
    points = SPECIALIST * bool(re.search(_WORDS[need], _known(model), re.IGNORECASE))
    return points + ABLE * bool(_ABLE.search(_known(model)))


def _known(model: ListedModel) -> str:
    """Return the description; a bare name of one of our workers brings its own."""
    named = (
        BY_NAME[word].description
        for word in re.findall(r"[\w-]+", model.about)
        if word in BY_NAME
    )
    return " ".join((model.about, *named))
