"""Writes an evaluation that has ended to a file, and takes one from a file."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence

from django.db import transaction
from django.utils import timezone

from apps.audit.jobs import actor_facts
from apps.audit.models import JobState
from apps.audit.services import entries_append
from apps.audit.types import Actor, Batch, EntryDraft
from apps.core.errors import Conflict, InvalidInput
from apps.evaluation.models import (
    Evaluation,
    EvaluationOutcome,
    EvaluationResult,
    StoredTask,
    SuiteVersion,
)
from apps.evaluation.reports.report import result_rows
from apps.evaluation.reports.result_workers import result_workers
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.transfer.file_format import (
    EvaluationFile,
    EvaluationHead,
    ResultLine,
    file_read,
    file_written,
)

IMPORTED = "evaluation.imported"
RESULTS_BATCH_SIZE = 500
COPIED = tuple(set(ResultLine.model_fields) - {"task", "workers"})
"""Fields that a line has from the row of its result."""


def evaluation_export(evaluation: Evaluation) -> Iterator[bytes]:
    """Return the lines of the file of an evaluation.

    Raises: Conflict if it did not run to its end.
    """
    if evaluation.outcome != EvaluationOutcome.COMPLETED:
        raise Conflict("only an evaluation that was completed can be exported")
    started, finished = evaluation.started_at, evaluation.finished_at
    if started is None or finished is None:
        raise Conflict("the evaluation does not say when it was made")
    head = EvaluationHead(
        suite_digest=evaluation.version.digest,
        settings=EvaluationSettings.model_validate(evaluation.settings),
        is_simulated=evaluation.has_simulated_pool,
        started_at=started,
        finished_at=finished,
    )
    return file_written(head, _lines(evaluation))


def _lines(evaluation: Evaluation) -> Iterator[ResultLine]:
    rows = list(result_rows(evaluation))
    workers = result_workers(evaluation.team_id, [row.run_id for row in rows])
    for row in rows:
        values = {name: getattr(row, name) for name in COPIED}
        of_run = tuple(row.workers or workers[row.run_id])
        yield ResultLine(task=row.task.key, workers=of_run, **values)


def evaluation_import(
    *, version: SuiteVersion, content: bytes, name: str, actor: Actor
) -> Evaluation:
    """Keep an evaluation of these tasks that was made elsewhere, from its file.

    Its results have no runs here, and its pages say so. `name` is that of the file.
    Raises: InvalidInput if the file is of other tasks, or lacks results.
    """
    read = file_read(content)
    tasks = _tasks(version, read)
    settings = read.head.settings
    results = sorted(
        read.results, key=lambda line: (tasks[line.task].index, line.system)
    )
    _require_whole(results, len(settings.systems))
    digest = hashlib.sha256(content).hexdigest()
    evaluation = Evaluation(
        team_id=version.team_id,
        version=version,
        settings=settings.values(),
        state=JobState.DONE,
        outcome=EvaluationOutcome.COMPLETED,
        total=len(results),
        graded=len(results),
        cost_micros=sum(line.cost_micros for line in results),
        has_simulated_pool=read.head.is_simulated,
        imported_from={"file": name[:200], "digest": digest},
        requested_by=actor_facts(actor),
        beat_at=timezone.now(),
        started_at=read.head.started_at,
        finished_at=read.head.finished_at,
    )
    with transaction.atomic():
        evaluation.save(force_insert=True)
        rows = (
            _result(evaluation, place, line, tasks[line.task].id)
            for place, line in enumerate(results)
        )
        EvaluationResult.objects.bulk_create(rows, batch_size=RESULTS_BATCH_SIZE)
        _record(evaluation, digest, results, actor)
    return evaluation


def _tasks(version: SuiteVersion, read: EvaluationFile) -> dict[str, StoredTask]:
    """Return the tasks of a version by their keys. Raises: InvalidInput."""
    if read.head.suite_digest != version.digest:
        raise InvalidInput(
            f"the file is of other tasks than version {version.number} of "
            f"{version.suite.name!r}"
        )
    rows = StoredTask.objects.for_team(version.team_id).filter(version=version)
    tasks = {row.key: row for row in rows.defer("sealed")}
    unknown = next((line for line in read.results if line.task not in tasks), None)
    if unknown is not None:
        raise InvalidInput(f"the suite has no task {unknown.task!r}")
    return tasks


def _require_whole(results: Sequence[ResultLine], systems: int) -> None:
    """Raise InvalidInput unless every system has one result for every task."""
    by_task: dict[str, list[int]] = defaultdict(list)
    for line in results:
        by_task[line.task].append(line.system)
    if not by_task:
        raise InvalidInput("the file has no results")
    for task, places in by_task.items():
        if places != list(range(systems)):
            raise InvalidInput(
                f"task {task!r}: expected one result of each of {systems} systems"
            )


def _result(
    evaluation: Evaluation, place: int, line: ResultLine, task_id: int
) -> EvaluationResult:
    return EvaluationResult(
        team_id=evaluation.team_id,
        evaluation=evaluation,
        place=place,
        task_id=task_id,
        **line.model_dump(mode="json", exclude={"task"}),
    )


def _record(
    evaluation: Evaluation, digest: str, results: Sequence[ResultLine], actor: Actor
) -> None:
    facts = {
        "suite": evaluation.version.suite.name,
        "suite_version": evaluation.version.number,
        "suite_digest": evaluation.version.digest,
        "settings": evaluation.settings,
        "file_digest": digest,
        "results": len(results),
        "right": sum(line.state == "right" for line in results),
        "cost_micros": evaluation.cost_micros,
    }
    draft = EntryDraft(IMPORTED, "evaluation", evaluation.id, actor, facts)
    entries_append(batch=Batch(evaluation.team_id, (draft,)))
