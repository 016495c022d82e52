"""What a share link shows of a run: less than its page, and nothing of its team."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from apps.conversations.history import prompt_of
from apps.playground.run_page import DrawnRound, compose
from apps.playground.sharing.page_budget import PageBudget
from apps.playground.texts.model_text import DrawnText
from apps.runs.models import Run
from apps.runs.selectors import record_of, run_events


@dataclass(frozen=True, slots=True)
class SharedTurn:
    """A prompt and its answer, as visitors read them."""

    number: int
    """From 1."""
    prompt: str
    """Empty: it has been erased."""
    is_prompt_cut: bool
    """True: the page has no room for all of it."""
    answer: DrawnText | None
    """None: there is none, or it has been erased."""
    is_erased: bool
    """The run has an answer, and its text has been erased."""
    attachments: int
    """Files and images that came with the prompt. They are not shown."""
    rounds: tuple[DrawnRound, ...]
    """Its plans with their steps. Empty: they are not shown."""
    budget: PageBudget
    """Of its page; the texts of steps are drawn within it too."""


def shared_turn(
    run: Run, number: int, budget: PageBudget, *, has_plan: bool
) -> SharedTurn:
    """Return what is shown of a run. It has no cost, error, request or name."""
    record = record_of(run)
    text = record.summary.answer if record.summary else ""
    rounds: tuple[DrawnRound, ...] = ()
    if has_plan:
        body = compose(run.id, run_events(run), timezone.now())
        rounds = tuple(each for each in body.rounds if each.nodes)
    whole = prompt_of(record)
    prompt = budget.cut(whole)
    return SharedTurn(
        number=number,
        prompt=prompt,
        is_prompt_cut=len(prompt) < len(whole),
        answer=budget.draw(text, f"turn-{number}") if text else None,
        is_erased=record.state == "completed" and not text,
        attachments=len(record.params.get("attachments", ())),
        rounds=rounds,
        budget=budget,
    )
