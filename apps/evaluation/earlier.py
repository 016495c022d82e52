"""What an earlier evaluation found, for systems that choose by it.

Grades and costs are in its results, answers in its runs, under their retention: a task
whose answers have been erased is left out. Only figures are kept of answers, no text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations
from uuid import UUID

from apps.evaluation.models import (
    GRADED,
    Evaluation,
    EvaluationResult,
    ResultState,
    StoredTask,
)
from apps.evaluation.selectors import access_evaluation, results_of
from apps.evaluation.settings import EvaluationSettings
from apps.evaluation.suites.storage import task_read
from apps.evaluation.systems.answer_distance import answer_distance
from apps.evaluation.systems.earlier import (
    ComparedTask,
    MeasuredTask,
    SampledTask,
)
from apps.evaluation.systems.samples import SamplesSystem
from apps.evaluation.systems.task_index import TaskIndex
from apps.planners.fixed import agreeing
from apps.runs.records.run_view import RunView
from apps.runs.selectors import run_views

KEPT = 4
"""Evaluations in memory; one that has ended never changes."""
MAX_TASKS_READ = 300
"""Tasks whose answers are read, drawn evenly: a thousand answers take seconds."""
ByTask = Mapping[int, Mapping[str, EvaluationResult]]


class RecordedEvaluation:
    """An evaluation that has ended; reads what it is asked for once."""

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._settings = EvaluationSettings.model_validate(evaluation.settings)

    def measured(self) -> TaskIndex[MeasuredTask]:
        """Return the tasks that single workers were graded on."""
        return self._measured

    def compared(self) -> TaskIndex[ComparedTask]:
        """Return tasks that two workers or more have an answer to on record."""
        return self._compared

    def sampled(
        self, cheap: str, strong: str, samples: int | None
    ) -> tuple[int, Sequence[SampledTask]]:
        """Return how many samples there are, and the tasks that have them all.

        Raises: ValueError if the evaluation lacks samples of one worker, or the other
        one alone.
        """
        place, count = self._samples_place(cheap, samples)
        alone = next(
            (p for p, w in self._settings.single_workers.items() if w == strong), None
        )
        if alone is None:
            raise ValueError(f"evaluation {self._evaluation.id} lacks worker:{strong}")
        by_task = self._results({place: "cheap", alone: "strong"})
        both = {task: found for task, found in by_task.items() if len(found) == 2}
        some = _evenly(both)
        views = self._views([found["cheap"] for found in some.values()])
        tasks = []
        for found in some.values():
            texts = _sampled_texts(views.get(found["cheap"].run_id), count)
            if texts is not None:
                tasks.append(_sampled_task(found, texts))
        return count, tasks

    def _samples_place(self, worker: str, samples: int | None) -> tuple[int, int]:
        for place, system in enumerate(self._settings.systems):
            if not isinstance(system, SamplesSystem) or system.worker != worker:
                continue
            if samples in (None, system.samples):
                return place, system.samples
        wanted = "" if samples is None else f":{samples}"
        raise ValueError(
            f"evaluation {self._evaluation.id} lacks samples:{worker}{wanted}"
        )

    @cached_property
    def _measured(self) -> TaskIndex[MeasuredTask]:
        by_task = self._results(self._settings.single_workers)
        return TaskIndex(
            [
                MeasuredTask(
                    prompt,
                    {
                        worker: (each.state == ResultState.RIGHT, each.cost_micros)
                        for worker, each in by_task[task].items()
                    },
                    family,
                )
                for task, family, prompt in self._prompts(by_task)
            ]
        )

    @cached_property
    def _compared(self) -> TaskIndex[ComparedTask]:
        by_task = _evenly(self._results(self._settings.single_workers))
        views = self._views([each for r in by_task.values() for each in r.values()])
        tasks = []
        for task, _, prompt in self._prompts(by_task):
            answers = {
                worker: view.answer
                for worker, each in sorted(by_task[task].items())
                if (view := views.get(each.run_id)) is not None and view.answer
            }
            if len(answers) < 2:
                continue
            distances = {
                (one, other): answer_distance(answers[one], answers[other])
                for one, other in combinations(answers, 2)
            }
            costs = {worker: by_task[task][worker].cost_micros for worker in answers}
            tasks.append(ComparedTask(prompt, distances, costs))
        return TaskIndex(tasks)

    def _results(self, systems: Mapping[int, str]) -> ByTask:
        """Return the graded results of some systems, by task and the system's name."""
        rows = results_of(self._evaluation)
        found: dict[int, dict[str, EvaluationResult]] = defaultdict(dict)
        for each in rows.filter(state__in=GRADED, system__in=systems).order_by("place"):
            found[each.task_id][systems[each.system]] = each
        return found

    def _views(self, results: Sequence[EvaluationResult]) -> dict[UUID, RunView]:
        run_ids = [result.run_id for result in results]
        return dict(run_views(self._evaluation.team_id, run_ids))

    def _prompts(self, by_task: ByTask) -> Iterator[tuple[int, str, str]]:
        """Yield the id, family and prompt of tasks, in the order of the suite."""
        rows = StoredTask.objects.for_team(self._evaluation.team_id)
        for stored in rows.filter(id__in=list(by_task)).order_by("index"):
            yield stored.pk, stored.family, task_read(stored).prompt


@lru_cache(maxsize=KEPT)
def earlier_evaluation(team_id: UUID, evaluation_id: UUID) -> RecordedEvaluation:
    """Return an evaluation that has ended, by its id. Raises: NotFound."""
    found = access_evaluation(team_id=team_id, evaluation_id=evaluation_id)
    return RecordedEvaluation(found)


def _evenly(by_task: ByTask) -> ByTask:
    """Return so many of the tasks as are read, with equal gaps between them."""
    every = -(-len(by_task) // MAX_TASKS_READ) or 1
    return dict(list(by_task.items())[::every])


def _sampled_texts(view: RunView | None, count: int) -> list[str] | None:
    """Return the answers of the first round; None: not all of them are on record."""
    if view is None or not view.rounds:
        return None
    texts = [step.text for step in view.rounds[0].steps]
    return texts if len(texts) == count and all(texts) else None


def _sampled_task(
    found: Mapping[str, EvaluationResult], texts: Sequence[str]
) -> SampledTask:
    cheap, strong = found["cheap"], found["strong"]
    return SampledTask(
        agreeing(texts[:-1], texts[-1]),
        cheap.state == ResultState.RIGHT,
        cheap.cost_micros,
        strong.state == ResultState.RIGHT,
        strong.cost_micros,
    )
