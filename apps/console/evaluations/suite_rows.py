"""Tasks of a suite as its page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from apps.evaluation.models import StoredTask
from apps.evaluation.suites.storage import task_read
from apps.evaluation.suites.tasks import SuiteTask
from apps.evaluation.verifiers.words import verifier_words

PROMPT_SHOWN = 1_000
"""Characters of a prompt; the file has all of it."""


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task, its prompt cut if it is long."""

    task: SuiteTask
    prompt: str
    right: str
    """Which answer is right, in words."""


def task_views(rows: Iterable[StoredTask]) -> list[TaskView]:
    """Return what is shown of stored tasks."""
    return [_view(task_read(row)) for row in rows]


def _view(task: SuiteTask) -> TaskView:
    is_long = len(task.prompt) > PROMPT_SHOWN
    shown = f"{task.prompt[:PROMPT_SHOWN]}…" if is_long else task.prompt
    return TaskView(task, shown, verifier_words(task.verifier))
