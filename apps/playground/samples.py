"""Prompts to try first, in the language of the page. Each shows a kind of plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

from apps.playground.comparing.words import listed

if TYPE_CHECKING:
    from apps.evaluation.reports.headline import Headline, TellingTask


@dataclass(frozen=True, slots=True)
class Sample:
    """A prompt with a short name for its button."""

    label: str
    prompt: str
    reason: str = ""
    """What it shows; empty: its label says that."""


_SAMPLES = (
    (
        _("A sum"),
        _("What is 17 × 23 + 4? Show the steps and check the result."),
    ),
    (
        _("Compare and recommend"),
        _(
            "Compare PostgreSQL and SQLite for an internal tool used by a team of ten. "
            "Weigh operations, backups and concurrent writes, then recommend one."
        ),
    ),
    (
        _("Code with tests"),
        _(
            "Write a Python function that merges overlapping intervals, then test it "
            "against the edge cases."
        ),
    ),
    (
        _("Review a draft"),
        _(
            "Draft a short incident report for a 20-minute outage of the login page, "
            "then have it reviewed for blame and unclear wording, and give the final "
            "text."
        ),
    ),
)
_SIMULATED = (
    (_("A calculation"), "What is 17 * 23 + 4?"),
    (_("Two questions"), "What is 12*12, and what is the capital of Italy?"),
    (_("Code"), "Write a Python function that returns the nth Fibonacci number"),
    (_("A date"), "How many days are between 2024-01-15 and 2024-03-01?"),
)
"""What simulated workers can answer, in English only: one plan of each shape."""


def samples_shown(*, is_simulated: bool, found: Headline | None) -> list[Sample]:
    """Return the prompts for a team whose models are simulated, or not.

    Those on which conducting made the difference come first, if that was measured.
    """
    if found is not None and found.telling:
        return [_telling_sample(task) for task in found.telling]
    if is_simulated:
        return [Sample(gettext(label), prompt) for label, prompt in _SIMULATED]
    return [Sample(gettext(label), gettext(prompt)) for label, prompt in _SAMPLES]


def _telling_sample(task: TellingTask) -> Sample:
    label = capfirst(task.family.replace("_", " "))
    reason = gettext("The best single model is wrong here. Conductor is right.")
    if task.workers:
        steps = ngettext(
            "The best single model is wrong here. Right: {number} step, by {workers}.",
            "The best single model is wrong here. Right: {number} steps, by {workers}.",
            len(task.workers),
        )
        names = listed(list(dict.fromkeys(task.workers)))
        reason = steps.format(number=len(task.workers), workers=names)
    return Sample(label, task.prompt, reason)
