"""The steps of two plans side by side, and what differs in each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from django.utils.translation import gettext

from apps.runs.records.round_view import StepView
from apps.runs.records.run_view import RunView


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
            return (gettext("only in one plan"),)
        given = {
            gettext("worker"): (left.worker, right.worker),
            gettext("subtask"): (left.subtask, right.subtask),
            gettext("reads"): (left.access, right.access),
            gettext("result"): (left.state, right.state),
            gettext("answer"): (left.text, right.text),
        }
        return tuple(name for name, (one, other) in given.items() if one != other)


def step_pairs(left: RunView, right: RunView) -> list[StepPair]:
    """Return the steps of two last plans, by their places; empty without plans."""
    one, other = (_planned_steps(story) for story in (left, right))
    if not (one and other):
        return []
    return [StepPair(*both) for both in zip_longest(one, other)]


def _planned_steps(story: RunView) -> list[StepView]:
    return next((each.steps for each in reversed(story.rounds) if each.steps), [])
