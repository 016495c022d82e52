"""What the page of a review shows beside the run: the queue, the calls, the rubric."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from apps.governance.models import ReviewItem, Verdict
from apps.governance.reviews.rules import Criterion, ReviewDocument
from apps.playground.message_view import ShownMessage, shown_messages
from apps.playground.numbering import Legend, agents_of, models_of
from apps.runs.records.round_view import CallView
from apps.runs.records.run_view import RunView

LISTED = 100
"""Reviews on one page of the queue."""


@dataclass(frozen=True, slots=True)
class CallGroup:
    """The calls of one step, or of the conductor in one round."""

    key: str
    """`plan-0` or `step-0-1`: as the drawings of a run link to them."""
    label: str
    title: str
    state: str
    url: str
    """Of the page that shows them alone."""
    calls: tuple[CallView, ...]
    legend: Legend

    @property
    def sent(self) -> list[tuple[CallView, list[ShownMessage]]]:
        """Return each call with the messages that were sent."""
        return [(call, shown_messages(call.messages)) for call in self.calls]


@dataclass(frozen=True, slots=True)
class Choice:
    """A score or verdict that can be chosen, and its key."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ReviewQuestion:
    """One thing a reviewer answers with a key: a criterion, or the verdict."""

    name: str
    """Of the field."""
    label: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A line of the queue."""

    item: ReviewItem
    holder: str
    """Who has reserved it; empty: it is free."""
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """Which part of the queue is listed."""

    state: str
    reason: str
    page: int = 1
    """From 1."""

    @property
    def size(self) -> int:
        """Return how many reviews a page has at most."""
        return LISTED

    @property
    def start(self) -> int:
        """Return how many reviews come before its page."""
        return (self.page - 1) * self.size

    @property
    def query(self) -> str:
        """Return it as the end of an address."""
        page = str(self.page) if self.page > 1 else ""
        given = {"state": self.state, "reason": self.reason, "page": page}
        return urlencode({name: value for name, value in given.items() if value})

    @property
    def before(self) -> Filter:
        """Return the page before."""
        return replace(self, page=self.page - 1)

    @property
    def after(self) -> Filter:
        """Return the page after."""
        return replace(self, page=self.page + 1)


def exchanges_of(run_id: uuid.UUID, story: RunView) -> list[CallGroup]:
    """Return all calls of a run, those of a plan before those of its steps."""
    return [each for each in _exchanges(run_id, story) if each.calls]


def chosen_exchange(exchanges: list[CallGroup], key: str, story: RunView) -> str:
    """Return the one to show: that of `key`, else of the answer, else the last."""
    keys = [each.key for each in exchanges]
    final = story.final_step
    wanted = [key, f"step-{final.key}" if final else "", *reversed(keys)]
    return next((each for each in wanted if each in keys), "")


def questions_of(
    rules: ReviewDocument, given: Mapping[str, str]
) -> list[ReviewQuestion]:
    """Return what a reviewer answers; `given` are the answers that were sent."""
    found = [
        _criterion(number, criterion, given)
        for number, criterion in enumerate(rules.rubric)
    ]
    chosen = given.get("verdict", "")
    verdicts = tuple(
        Choice(str(value), gettext(label), value == chosen)
        for value, label in Verdict.choices
    )
    return [*found, ReviewQuestion("verdict", gettext("Verdict"), verdicts)]


def scores_of(rules: ReviewDocument, given: Mapping[str, str]) -> dict[str, int | str]:
    """Return the scores in the fields that were sent, by the criteria's names."""
    scores: dict[str, int | str] = {}
    for number, criterion in enumerate(rules.rubric):
        text = given.get(_field(number), "")
        if text:
            is_number = len(text) == 1 and text.isascii() and text.isdecimal()
            scores[criterion.name] = int(text) if is_number else text
    return scores


def queue_rows(
    items: list[ReviewItem], chosen: ReviewItem | None, now: datetime
) -> list[QueueRow]:
    """Return the lines of the queue."""
    return [
        QueueRow(
            item,
            item.reserved_name if item.is_reserved(now) else "",
            chosen is not None and item.id == chosen.id,
        )
        for item in items
    ]


def _exchanges(run_id: uuid.UUID, story: RunView) -> Iterator[CallGroup]:
    has_rounds = len(story.rounds) > 1
    for round_ in story.rounds:
        name = f"Conductor {round_.number}" if has_rounds else "Conductor"
        yield CallGroup(
            f"plan-{round_.index}",
            name,
            gettext("Conductor, round {number}").format(number=round_.number),
            round_.calls[-1].state if round_.calls else "",
            reverse("playground:plan_context", args=[run_id, round_.index]),
            tuple(round_.calls),
            models_of(round_),
        )
        for step in round_.steps:
            yield CallGroup(
                f"step-{step.key}",
                f"{step.number}. {step.worker}",
                gettext("Step {number}, {worker}").format(
                    number=step.number, worker=step.worker
                ),
                step.shown_state,
                reverse(
                    "playground:step_context", args=[run_id, step.round, step.index]
                ),
                tuple(step.calls),
                agents_of(round_, step.access),
            )


def _criterion(
    number: int, criterion: Criterion, given: Mapping[str, str]
) -> ReviewQuestion:
    field = _field(number)
    chosen = given.get(field, "")
    choices = tuple(
        Choice(str(value), gettext(str(value).capitalize()), str(value) == chosen)
        for value in criterion.choices
    )
    return ReviewQuestion(field, criterion.name, choices)


def _field(number: int) -> str:
    return f"score-{number}"
