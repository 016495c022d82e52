"""What the verifier of a suite says of answers to a prompt that is one of its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext, ngettext

from apps.evaluation.reports.headline import Headline, headline
from apps.evaluation.reports.known_tasks import known_task
from apps.evaluation.verifiers.words import right_answers
from apps.playground.comparing.words import listed


@dataclass(frozen=True, slots=True)
class TaskVerdicts:
    """Which answers are right."""

    right_answer: str
    """Empty: the verifier names none."""
    is_right: Mapping[int, bool]
    """By position of the answer."""
    measured: Headline | None
    """What came of all tasks of the measurement that the prompt is of."""

    @property
    def is_decided(self) -> bool:
        """Say whether some answer is right and another one is not."""
        return len(set(self.is_right.values())) == 2

    def words(self, names: Mapping[int, str]) -> str:
        """Return a sentence on which answers are right; `names` by position."""
        right = [name for place, name in names.items() if self.is_right.get(place)]
        wrong = [name for name in names.values() if name not in right]
        if not wrong:
            found = gettext("All answers are right.")
        elif not right:
            found = gettext("No answer is right.")
        else:
            found = ngettext(
                "{right} is right, {wrong} is wrong.",
                "{right} is right, {wrong} are wrong.",
                len(wrong),
            )
            if len(right) > 1:
                found = gettext("{right} are right, {wrong} wrong.")
            found = found.format(right=listed(right), wrong=listed(wrong))
        if not self.right_answer:
            return found
        known = gettext("The right answer is {answer}.").format(
            answer=self.right_answer
        )
        return f"{found} {known}"


def task_verdicts(
    team_id: UUID, prompt: str, answers: Mapping[int, str]
) -> TaskVerdicts | None:
    """Return which answers are right; None: the prompt is no known task.

    `answers` by position; an empty one is wrong.
    """
    task = known_task(team_id, prompt)
    if task is None:
        return None
    return TaskVerdicts(
        next(iter(right_answers(task.verifier)), ""),
        {
            place: bool(text) and task.verifier.grade(text).is_right
            for place, text in answers.items()
        },
        headline(team_id),
    )
