"""Tasks are found by their likeness; the router of the tasks most alike."""

from __future__ import annotations

import pytest

from apps.core.errors import InvalidInput
from apps.evaluation.reports.report import report_make
from apps.evaluation.systems.earlier import MeasuredTask
from apps.evaluation.systems.task_index import TaskIndex
from apps.evaluation.systems.track_record import best_worker
from tests.evaluation.samples import documents
from tests.evaluation.test_driver import WORKER, ended, start


def task(prompt: str, **right: bool) -> MeasuredTask:
    return MeasuredTask(
        prompt, {name: (is_right, 10) for name, is_right in right.items()}
    )


TASKS = (
    task("What is 3 + 4?", sums=True, facts=False),
    task("What is 12 * 5?", sums=True, facts=False),
    task("What is the capital of Peru?", sums=False, facts=True),
    task("What is the capital of Chile?", sums=False, facts=True),
)


@pytest.mark.parametrize(
    ("prompt", "worker"),
    [("What is 99 + 1?", "sums"), ("Name the capital of Kenya", "facts")],
)
def test_the_worker_that_is_right_on_like_tasks(prompt, worker):
    near = TaskIndex(TASKS).nearest(prompt, 2)
    assert best_worker(task.outcomes for task in near) == worker


def test_numbers_are_alike_and_rare_words_count_more():
    index = TaskIndex(TASKS)
    assert [t.prompt for t in index.nearest("What is 7 + 8?", 2)] == [
        TASKS[0].prompt,
        TASKS[1].prompt,
    ]
    assert index.nearest("capital", 1) == [TASKS[2]]


def test_of_equal_workers_the_cheaper_one():
    index = TaskIndex([MeasuredTask("x", {"dear": (True, 9), "cheap": (True, 3)})])
    near = index.nearest("something else", 5)
    assert best_worker(task.outcomes for task in near) == "cheap"


def test_nothing_measured_is_no_router():
    with pytest.raises(ValueError, match="no single worker has been measured"):
        best_worker(task.outcomes for task in TaskIndex[MeasuredTask]([]).tasks)


def test_it_routes_without_families(site):
    tasks = [
        {**each, "split": split, "id": f"{split}-{each['id']}", "family": "all"}
        for split in ("training", "held_out")
        for each in documents()
    ]
    for each in tasks:  # one worker repeats the prompt, so it is right on facts alone
        if "capital" in each["prompt"]:
            each["verifier"] = {"kind": "pattern", "pattern": "^What is"}
    site.add_worker("echo")
    singles = [WORKER, {"kind": "worker", "worker": "echo"}]
    first = ended(start(site, *singles, split="training", tasks=tasks))
    system = {"kind": "nearest_neighbors", "measured_by": str(first.id), "neighbors": 3}
    second = ended(start(site, system, tasks=tasks))
    (found,) = report_make(second).systems
    assert (found.right, found.ended) == (10, 10)
    assert second.settings["systems"][0]["workers"] == ["echo", "sim-delta"]
    with pytest.raises(InvalidInput, match="ran the same tasks"):
        start(site, system, split="training", tasks=tasks)
