"""Tasks made of reviewed runs: what reviewers marked as one becomes a task of a suite.

The prompt is that of the run. The right answer is the run's own if it passed, else the
one that a reviewer wrote. A run that cannot be a task is named, with the reason.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.db import transaction
from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from apps.accounts.models import Team
from apps.audit.types import Actor
from apps.core.errors import InvalidInput, NotFound
from apps.core.input_parts import InputPart, faults_of, values_read
from apps.engine.events import RunCompleted, RunFailed
from apps.engine.messages import has_images
from apps.evaluation.models import StoredTask, Suite, SuiteVersion
from apps.evaluation.selectors import newest_version, suite_list
from apps.evaluation.services import suite_import
from apps.evaluation.suites.files import MAX_TASKS
from apps.evaluation.suites.storage import task_read
from apps.evaluation.suites.tasks import Label, SuiteTask
from apps.evaluation.verifiers.kinds import last_number
from apps.evaluation.verifiers.model_graded import MAX_RUBRIC
from apps.governance.models import ReviewItem, Verdict
from apps.governance.reviews.reads import review_items, reviews_given
from apps.planners.final_answer import final_answer
from apps.runs.selectors import record_of
from apps.runs.types import RunRecord

NEWEST = 500
"""Reviewed runs that a request looks at: about ten queries each."""
TOO_MANY = f"name: a suite has {MAX_TASKS:,} tasks at most"
ERASED = "its text has been erased"
NO_ANSWER = "it has no right answer: it did not pass, and nobody wrote one"
NO_NUMBER = "its right answer holds no number"
CONVERSATION = "it is a conversation, and a task is one prompt"
TOOLS = "it has tools"
IMAGES = "it has images"


class ReviewedChoice(InputPart):
    """How answers to reviewed runs are verified, and under which family."""

    verifier: Literal["exact", "numeric", "model_graded"] = "model_graded"
    rubric: Annotated[str, Field(max_length=MAX_RUBRIC, validate_default=True)] = ""
    """What a right answer must have; for model_graded alone."""
    family: Label = "reviewed"

    @field_validator("rubric")
    @classmethod
    def _goes_with_a_grader(cls, rubric: str, info: ValidationInfo) -> str:
        """Refuse a grader without a rubric, and a rubric that nobody would read."""
        needs_one = info.data.get("verifier") == "model_graded"
        if needs_one != bool(rubric.strip()):
            raise PydanticCustomError(
                "rubric", "model_graded needs one, and no other verifier does"
            )
        return rubric


@dataclass(frozen=True, slots=True)
class SkippedRun:
    """A reviewed run that cannot be a task."""

    run_id: uuid.UUID
    title: str
    """Empty: it has been erased."""
    reason: str


@dataclass(frozen=True, slots=True)
class ReviewedAddition:
    """What became of the reviewed runs of a team."""

    version: SuiteVersion | None
    """The newest of the suite. None: there was nothing to add, and no such suite."""
    tasks: int
    """Reviewed runs that are in it."""
    is_new: bool
    """False: the suite had all of them as they are."""
    skipped: tuple[SkippedRun, ...]


def suite_add_reviewed(
    *,
    team: Team,
    name: str,
    values: Mapping[str, Any],
    actor: Actor,
    newest: int | None = NEWEST,
) -> ReviewedAddition:
    """Add the reviewed tasks of a team to a suite, or make it of them.

    `newest`: how many reviewed runs are looked at; None: all. The new version has the
    tasks of the one before and these; a run that is in it already is replaced.
    Raises: InvalidFields, InvalidInput.
    """
    choice = values_read(ReviewedChoice, values)
    tasks: dict[str, SuiteTask] = {}
    skipped: list[SkippedRun] = []
    for item, found in _reviewed(team.id, choice, newest):
        if isinstance(found, str):
            skipped.append(SkippedRun(item.run_id, item.run.title, found))
        else:
            tasks[found.id] = found
    with transaction.atomic():
        suite = suite_list(team.id).select_for_update().filter(name=name.strip())
        before = _newest_of(suite.first())
        if not tasks:
            return ReviewedAddition(before, 0, False, tuple(skipped))
        merged = {**_tasks_of(before), **tasks}
        if len(merged) > MAX_TASKS:
            raise InvalidInput(TOO_MANY, param="name")
        version = suite_import(
            team=team, name=name, tasks=tuple(merged.values()), actor=actor
        )
    is_new = before is None or version.id != before.id
    return ReviewedAddition(version, len(tasks), is_new, tuple(skipped))


def _newest_of(suite: Suite | None) -> SuiteVersion | None:
    return None if suite is None else newest_version(suite)


def _tasks_of(version: SuiteVersion | None) -> dict[str, SuiteTask]:
    if version is None:
        return {}
    rows = StoredTask.objects.for_team(version.team_id).filter(version=version)
    return {row.key: task_read(row) for row in rows.order_by("index")}


def _reviewed(
    team_id: uuid.UUID, choice: ReviewedChoice, newest: int | None
) -> Iterator[tuple[ReviewItem, SuiteTask | str]]:
    """Yield reviewed runs as tasks, the oldest first; a text says why one is none."""
    items = review_items(team_id, state="tasks")
    for item in reversed(list(items if newest is None else items[:newest])):
        yield item, _task(item, choice)


def _task(item: ReviewItem, choice: ReviewedChoice) -> SuiteTask | str:
    try:
        record = record_of(item.run)
    except NotFound:
        return ERASED
    if why := _obstacle(record):
        return why
    right = _right_answer(item, record)
    if not right:
        return ERASED if right is None else NO_ANSWER
    verifier = _verifier(right, choice)
    if verifier is None:
        return NO_NUMBER
    try:
        return SuiteTask.model_validate(
            {
                "id": f"review-{item.run_id}",
                "family": choice.family,
                "prompt": record.prompt,
                "verifier": verifier,
            }
        )
    except ValidationError as exc:
        return "; ".join(f"{path}: {why}" for path, why in faults_of(exc))


def _obstacle(record: RunRecord) -> str:
    """Return why a run is more than a prompt and its answer; empty if it is not."""
    if not record.prompt:
        return ERASED
    if has_images(record.messages):
        return IMAGES
    if record.params.get("tools"):
        return TOOLS
    return CONVERSATION if record.messages else ""


def _right_answer(item: ReviewItem, record: RunRecord) -> str | None:
    """Return the right answer; empty: there is none. None: it has been erased."""
    if item.verdict == Verdict.PASS:
        end = record.summary.end if record.summary else None
        return end.answer or None if isinstance(end, RunCompleted | RunFailed) else ""
    answers = [
        each.right_answer
        for each in reviews_given(item)
        if each.is_task and each.round == item.round and each.right_answer != ""
    ]
    return answers[-1] if answers else ""


def _verifier(right: str, choice: ReviewedChoice) -> dict[str, Any] | None:
    """Return the verifier of a task; None: its answer holds no number."""
    if choice.verifier == "model_graded":
        return {"kind": "model_graded", "rubric": choice.rubric, "reference": right}
    if choice.verifier == "exact":
        return {"kind": "exact", "answer": final_answer(right)}
    number = last_number(final_answer(right))
    return None if number is None else {"kind": "numeric", "answer": str(number)}
