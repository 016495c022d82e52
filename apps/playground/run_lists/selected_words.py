"""What the list says when several runs were changed: how many, and which were not."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext, ngettext, ngettext_lazy

from apps.runs.models import Run
from apps.runs.services import MOST_TAGS, RunsChanged, UnchangedReason

NAMED = 5
"""Runs that are named for each reason."""
TITLE_LENGTH = 60
DONE_WORDS = {
    "tag": ngettext_lazy(
        "{number} run was tagged.", "{number} runs were tagged.", "number"
    ),
    "untag": ngettext_lazy(
        "Tags were removed from {number} run.",
        "Tags were removed from {number} runs.",
        "number",
    ),
    "review": ngettext_lazy(
        "{number} run was sent to review.",
        "{number} runs were sent to review.",
        "number",
    ),
    "stop": ngettext_lazy(
        "{number} run was stopped.", "{number} runs were stopped.", "number"
    ),
}
UNCHANGED_WORDS = {
    UnchangedReason.OVER: ngettext_lazy(
        "{number} run is finished already and was not stopped:",
        "{number} runs are finished already and were not stopped:",
        "number",
    ),
    UnchangedReason.STOPPING: ngettext_lazy(
        "{number} run was asked to stop and has not ended yet:",
        "{number} runs were asked to stop and have not ended yet:",
        "number",
    ),
    UnchangedReason.HAS_TAGS: ngettext_lazy(
        "{number} run has these tags already:",
        "{number} runs have these tags already:",
        "number",
    ),
    UnchangedReason.LACKS_TAGS: ngettext_lazy(
        "{number} run has none of these tags:",
        "{number} runs have none of these tags:",
        "number",
    ),
    UnchangedReason.TOO_MANY_TAGS: ngettext_lazy(
        "{number} run would have more than {most} tags and was not tagged:",
        "{number} runs would have more than {most} tags and were not tagged:",
        "number",
    ),
    UnchangedReason.IN_PROGRESS: ngettext_lazy(
        "{number} run is in progress and was not sent to review:",
        "{number} runs are in progress and were not sent to review:",
        "number",
    ),
    UnchangedReason.WAITS_FOR_REVIEW: ngettext_lazy(
        "{number} run waits for review already:",
        "{number} runs wait for review already:",
        "number",
    ),
    UnchangedReason.REVIEWED: ngettext_lazy(
        "{number} run has been reviewed already:",
        "{number} runs have been reviewed already:",
        "number",
    ),
}


def done_text(action: str, outcome: RunsChanged) -> str:
    """Return how many runs were changed."""
    number = len(outcome.changed)
    return str(DONE_WORDS[action].format(number=number)) if number else ""


def unchanged_texts(outcome: RunsChanged, missing: int) -> list[str]:
    """Return which runs were left as they were, a sentence for each reason.

    `missing`: how many of those that were selected the team does not have.
    """
    texts = [
        f"{UNCHANGED_WORDS[reason].format(number=len(runs), most=MOST_TAGS)} "
        f"{_named(runs)}."
        for reason, runs in outcome.unchanged.items()
    ]
    if missing:
        words = ngettext(
            "{number} of the selected runs does not exist.",
            "{number} of the selected runs do not exist.",
            missing,
        )
        texts.append(words.format(number=missing))
    return texts


def _named(runs: Sequence[Run]) -> str:
    names = [f"“{_title(run)}”" for run in runs[:NAMED]]
    more = len(runs) - NAMED
    if more > 0:
        names.append(gettext("and {number} more").format(number=more))
    return ", ".join(names)


def _title(run: Run) -> str:
    title = run.title or gettext("Erased prompt")
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1]}…"
