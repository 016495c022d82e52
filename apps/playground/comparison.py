"""Two runs side by side, and how they differ, in words.

Every ratio comes from the exact whole numbers on record and is rounded once, for
reading. What is unknown or not finished yet is said to be so, never estimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import zip_longest
from typing import Any

from apps.playground.run_page import RunBody, compose
from apps.runs.models import Run
from apps.runs.planning.model_resolver import direct_worker
from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView
from apps.runs.selectors import run_events
from apps.web import formats

ENDINGS = {"failed": "failed", "cancelled": "was stopped"}
"""How a run ended without an answer, as a verb."""
SMALLEST_SHOWN_RATIO = Fraction(1, 100)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs."""

    run: Run
    body: RunBody
    place: str
    """first or second: its name when nothing else tells the two apart."""

    @property
    def story(self) -> RunView:
        """Return what happened in the run."""
        return self.body.story

    @property
    def worker(self) -> str:
        """Return the worker that was asked directly; empty if there was a plan."""
        return direct_worker(self.run.model)

    @property
    def plan(self) -> list[dict[str, Any]]:
        """Return the last plan as the small drawing takes it."""
        return self.story.plan_drawing


@dataclass(frozen=True, slots=True)
class StepPair:
    """The steps at one place of two plans."""

    left: StepView | None
    right: StepView | None

    @property
    def number(self) -> int:
        """Return the place, counted from 1."""
        step = self.left or self.right
        assert step is not None
        return step.number

    @property
    def sides(self) -> tuple[StepView | None, StepView | None]:
        """Return both, in reading order."""
        return self.left, self.right

    @property
    def differences(self) -> tuple[str, ...]:
        """Return what differs, each as a word; empty: nothing does."""
        left, right = self.left, self.right
        if left is None or right is None:
            return ("only in one plan",)
        given = {
            "worker": (left.worker, right.worker),
            "subtask": (left.subtask, right.subtask),
            "reads": (left.access, right.access),
            "result": (left.state, right.state),
            "answer": (left.text, right.text),
        }
        return tuple(name for name, (one, other) in given.items() if one != other)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs and how they differ."""

    left: Side
    right: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        """Return both, in reading order."""
        return self.left, self.right

    @property
    def is_over(self) -> bool:
        """Say whether both runs have ended."""
        return all(side.story.is_over for side in self.sides)

    @property
    def has_same_prompt(self) -> bool:
        """Return True if both have the same prompt; unknown if one was erased."""
        left, right = self.left.story.prompt, self.right.story.prompt
        return bool(left) and left == right

    @property
    def has_different_prompts(self) -> bool:
        """Say whether they were asked different things, both of which are known."""
        left, right = self.left.story.prompt, self.right.story.prompt
        return bool(left and right) and left != right

    @property
    def steps(self) -> list[StepPair]:
        """Return the steps of both last plans, by their places; empty without plans."""
        left, right = (_planned_steps(side.story) for side in self.sides)
        if not (left and right):
            return []
        return [StepPair(*both) for both in zip_longest(left, right)]

    @property
    def words(self) -> tuple[str, ...]:
        """Return the difference as sentences."""
        left, right = _names(self)
        return difference((left, self.left.story), (right, self.right.story))


Named = tuple[str, RunView]
"""A run with what it is called in a sentence."""


def compare(left: Run, right: Run, now: datetime) -> Comparison:
    """Return two runs as of `now`, ready to be shown side by side."""
    return Comparison(_side(left, "first", now), _side(right, "second", now))


def _side(run: Run, place: str, now: datetime) -> Side:
    return Side(run, compose(run.id, run_events(run), now), place)


def _planned_steps(story: RunView) -> list[StepView]:
    return next((each.steps for each in reversed(story.rounds) if each.steps), [])


def difference(left: Named, right: Named) -> tuple[str, ...]:
    """Return how the left run differs from the right one, as sentences."""
    going = [name for name, story in (left, right) if not story.is_over]
    if going:
        verb = "is" if len(going) == 1 else "are"
        who = _sentence(" and ".join(going))
        return (f"{who} {verb} still running. The difference follows at the end.",)
    return (
        *_agreement(left, right),
        _ratios(left, right),
        *_costs(left, right),
        *_endings(left, right),
    )


def _agreement(left: Named, right: Named) -> list[str]:
    """Return how alike the answers are, as a sentence; none if one is missing.

    Words are counted wherever they stand, so a ratio says nothing of what is right.
    """
    mine, other = ((story.answer or "").split() for _, story in (left, right))
    if not (mine and other):
        return []
    if mine == other:
        return ["Both gave the same answer."]
    shared = (Counter(mine) & Counter(other)).total()
    percent = 200 * shared // (len(mine) + len(other))
    return [f"The answers differ: {percent} % of their words are the same."]


def _ratios(left: Named, right: Named) -> str:
    (name, mine), (other_name, other) = left, right
    parts = [_part(mine.latency_ms or 0, other.latency_ms or 0, "time")]
    if not (mine.total_cost.has_unknown or other.total_cost.has_unknown):
        parts.append(_part(mine.total_cost.micros, other.total_cost.micros, "cost"))
    tokens = (mine.total_usage.total_tokens, other.total_usage.total_tokens)
    parts.append(_part(*tokens, "tokens"))
    known = [part for part in parts if part]
    if not known:
        return f"There is nothing to compare {name} and {other_name} by."
    return f"{_sentence(name)} took {_listed(known)} of {other_name}."


def _part(mine: int, other: int, noun: str) -> str:
    """Return one number of the sentence; nothing has no ratio, so it has no part."""
    return f"{times(mine, other)} the {noun}" if mine and other else ""


def times(mine: int, other: int) -> str:
    """Return how many times `other` fits into `mine`, in two digits, with a sign."""
    if mine == other:
        return "exactly 1 ×"
    ratio = Fraction(mine, other)
    if ratio < SMALLEST_SHOWN_RATIO:
        return f"less than {float(SMALLEST_SHOWN_RATIO)} ×"
    if round(ratio, 1) >= 10:
        return f"{formats.count(round(ratio))} ×"
    digits = 1 if ratio >= 1 else 2
    rounded = round(ratio, digits)
    return "about 1 ×" if rounded == 1 else f"{float(rounded):.{digits}f} ×"


def _costs(left: Named, right: Named) -> list[str]:
    """Return what is to be said of costs that have no ratio."""
    (name, mine), (other_name, other) = left, right
    unknown = [name for name, story in (left, right) if story.total_cost.has_unknown]
    if unknown:
        who = " and of ".join(unknown)
        return [f"The cost of {who} is unknown, so costs are not compared."]
    if mine.total_cost.micros and other.total_cost.micros:
        return []
    if mine.total_cost == other.total_cost:
        return ["Both cost nothing."]
    costs = [_price(story.total_cost.micros) for story in (mine, other)]
    return [f"{_sentence(name)} cost {costs[0]}, {other_name} {costs[1]}."]


def _price(micros: int) -> str:
    return formats.money(micros) if micros else "nothing"


def _endings(left: Named, right: Named) -> list[str]:
    return [
        f"{_sentence(name)} {ENDINGS[story.state]}: its numbers go up to that moment."
        for name, story in (left, right)
        if story.state in ENDINGS
    ]


def _names(pair: Comparison) -> tuple[str, str]:
    """Return a label for each run: its kind, if the kinds differ."""
    sides = pair.sides
    for call in (_by_kind, _by_model):
        left, right = (call(side) for side in sides)
        if left != right:
            return left, right
    return "the first run", "the second run"


def _by_kind(side: Side) -> str:
    return f"{side.worker} alone" if side.worker else "the plan"


def _by_model(side: Side) -> str:
    return side.run.model


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def _sentence(words: str) -> str:
    """Return words for the start of a sentence; names of workers stay as they are."""
    return "T" + words[1:] if words.startswith("the ") else words
