"""Cascades: what threshold they learn, and what they need to learn it."""

from __future__ import annotations

import re

import pytest

from apps.core.errors import InvalidInput
from apps.evaluation.reports.report import report_make
from apps.evaluation.selectors import results_of
from apps.evaluation.systems.cascade import least_agreeing
from apps.evaluation.systems.earlier import SampledTask
from apps.runs.models import Run, Step
from tests.conftest import Site
from tests.evaluation.samples import documents
from tests.evaluation.test_driver import WORKER, ended, start

CHEAP, DEAR = 10, 100
SPLITS = ("training", "held_out")


def task(agreeing: int, *, cheap: bool, strong: bool, dear: int = DEAR) -> SampledTask:
    return SampledTask(agreeing, cheap, CHEAP, strong, dear)


SURE = task(2, cheap=True, strong=True)
UNSURE = task(0, cheap=False, strong=True)
LUCKY = task(0, cheap=True, strong=True)
HOPELESS = task(1, cheap=False, strong=False)
LOST = task(0, cheap=False, strong=False)


@pytest.mark.parametrize(
    ("tasks", "least"),
    [
        ([SURE] * 6 + [UNSURE] * 4, 1),
        ([SURE] * 6 + [UNSURE] * 3 + [HOPELESS] * 4, 1),
        ([SURE] * 10, 0),
        # Not sure, and right all the same: asking would gain nothing.
        ([SURE] * 6 + [LUCKY] * 4, 0),
        # The strong worker is cheaper than the samples: right answers alone count.
        ([task(2, cheap=False, strong=True, dear=5)] * 10, 3),
    ],
)
def test_the_threshold_gains_most_for_its_cost(tasks, least):
    assert least_agreeing(tasks, 3) == least


def test_a_dear_worker_is_worth_asking_where_it_helps_more_than_by_chance():
    # Unsure: 1 of 2 becomes right. Sure: 1 of 8. The line's rate is 2 of 10.
    sure = [task(1, cheap=True, strong=True)] * 7 + [task(1, cheap=False, strong=True)]
    unsure = [UNSURE, LOST]
    assert least_agreeing([*sure, *unsure], 2) == 1


def both_splits() -> list[dict[str, object]]:
    return [
        {**each, "split": split, "id": f"{split}-{each['id']}"}
        for split in SPLITS
        for each in documents(24)
    ]


def cascade(measured_by: object) -> dict[str, object]:
    given = {"cheap": "echo", "strong": "sim-delta", "measured_by": str(measured_by)}
    return {"kind": "cascade", **given}


def test_it_learns_and_asks_the_strong_worker(site: Site):
    site.add_worker("echo")  # repeats what it is sent: always sure, never right
    tasks = both_splits()
    samples = {"kind": "samples", "worker": "echo", "samples": 2}
    first = ended(start(site, samples, WORKER, split="training", tasks=tasks))
    second = ended(start(site, cascade(first.id), tasks=tasks))
    (recorded,) = second.settings["systems"]
    assert (recorded["samples"], recorded["least_agreeing"]) == (2, 2)
    assert recorded["tasks"] == 16
    (found,) = report_make(second).systems
    (alone,) = [s for s in report_make(first).systems if s.kind == "worker"]
    assert found.right == alone.right > 0
    runs = Run.objects.for_team(site.cast.team.id)
    run_ids = results_of(second).values("run_id")
    assert found.cost_micros == sum(
        runs.filter(id__in=run_ids).values_list("cost_micros", flat=True)
    )
    steps = Step.objects.for_team(site.cast.team.id).filter(run_id__in=run_ids)
    assert steps.filter(round=0, worker="echo").count() == 2 * 16
    assert steps.filter(round=1, worker="sim-delta").count() == 16


def test_what_it_needs_is_said(site: Site):
    site.add_worker("echo")
    tasks = both_splits()
    first = ended(start(site, WORKER, split="training", tasks=tasks, max_tasks=4))
    with pytest.raises(InvalidInput, match="lacks samples:echo"):
        start(site, cascade(first.id), tasks=tasks)
    samples = {"kind": "samples", "worker": "echo"}
    second = ended(start(site, samples, split="training", tasks=tasks, max_tasks=4))
    with pytest.raises(InvalidInput, match="lacks worker:sim-delta"):
        start(site, cascade(second.id), tasks=tasks)
    both = (samples, WORKER)
    third = ended(start(site, *both, split="training", tasks=tasks, max_tasks=4))
    words = "it takes 10 tasks that both workers have answered"
    with pytest.raises(InvalidInput, match=re.escape(words)):
        start(site, cascade(third.id), tasks=tasks)
