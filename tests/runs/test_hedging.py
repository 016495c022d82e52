"""A tier that hedges: who is late by their own measure gets a rival."""

from __future__ import annotations

from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.usage import Cost
from apps.pools.models import Tier, Worker
from apps.pools.selectors import snapshots_forget
from apps.runs.execution.executor import get_executor
from apps.runs.execution.latency_stats import ENOUGH
from apps.runs.models import Run, Step
from apps.runs.selectors import run_record
from tests.patience import eventually
from tests.runs.asking import Stage, planned
from tests.runs.starting import Heard, on_loop, order, run

SLOW = "delay-3600000"
"""It would answer in an hour."""
USUALLY_S = 0.02


@pytest.fixture
def late(stage: Stage, recruit: Any) -> int:
    """The number of a worker that is late today, in a pool that hedges."""
    (number,) = recruit(SLOW)
    team = stage.site.cast.team
    Tier.objects.for_team(team.id).update(is_hedged=True)
    snapshots_forget(team.id)
    return int(number)


def get_to_know(stage: Stage, calls: int, *, is_streamed: bool = True) -> None:
    """Let the process have seen so many calls of the slow worker in better days."""
    worker = Worker.objects.for_team(stage.site.cast.team.id).get(name=SLOW)
    key = (worker.team_id, worker.base_url, worker.model)

    async def note() -> None:
        for _ in range(calls):
            get_executor().latencies.began(
                key, is_streamed=is_streamed, after_s=USUALLY_S
            )

    on_loop(note())


def hedged(stage: Stage, late: int, **fields: Any) -> Heard:
    return run(order(stage.site.cast, planned([late]), **fields))


@pytest.mark.parametrize("is_streamed", [True, False])
def test_rival_answers_and_the_late_call_is_closed(stage, late, models, is_streamed):
    get_to_know(stage, ENOUGH, is_streamed=is_streamed)
    heard = hedged(stage, late, is_streamed=is_streamed, is_watched=is_streamed)
    started = [s for s in heard.signals if isinstance(s, ev.StepStarted)]
    (failed,) = (s for s in heard.signals if isinstance(s, ev.StepAttemptFailed))
    (done,) = (s for s in heard.signals if isinstance(s, ev.StepCompleted))
    assert [(s.attempt, s.worker) for s in started] == [(1, SLOW), (2, "sim-delta")]
    assert (failed.attempt, failed.fault) == (1, "cancelled")
    assert (done.attempt, heard.summary.worker) == (2, "sim-delta")
    assert eventually(lambda: late_calls_are_closed(models.stats()))


def late_calls_are_closed(stats: dict[str, Any]) -> bool:
    """Return whether every call that reached the late worker has been closed."""
    arrived = stats["requests"].get(SLOW, 0)
    return (stats["in_flight"], stats["disconnected"]) == (0, arrived)


def test_both_calls_are_in_every_sum(stage, late):
    get_to_know(stage, ENOUGH)
    summary = hedged(stage, late).summary
    team_id = stage.site.cast.team.id
    row = Run.objects.for_team(team_id).get(id=summary.run_id)
    step = Step.objects.for_team(team_id).get(run=row)
    told = run_record(team_id, summary.run_id).summary
    assert told == summary
    (shown,) = summary.steps
    assert (step.worker, step.state, step.attempts) == ("sim-delta", "completed", 2)
    assert (step.prompt_tokens, step.cost_micros) == (
        shown.usage.prompt_tokens,
        None if shown.cost.has_unknown else shown.cost.micros,
    )
    total = summary.orchestration_cost + shown.cost
    assert total == Cost(row.cost_micros, row.has_unknown_cost)


def test_who_is_not_known_well_enough_gets_no_rival(stage, late):
    stage.site.add_worker("delay-0")
    get_to_know(stage, ENOUGH)
    known = Worker.objects.for_team(stage.site.cast.team.id).count() - 1
    heard = run(order(stage.site.cast, planned([known])))
    assert sum(isinstance(s, ev.StepStarted) for s in heard.signals) == 1


def test_calls_teach_how_long_an_endpoint_takes(stage, late):
    known = get_executor().latencies
    worker = Worker.objects.for_team(stage.site.cast.team.id).get(name="sim-delta")
    key = (worker.team_id, worker.base_url, worker.model)
    for _ in range(ENOUGH):
        run(order(stage.site.cast, "Hi", model="worker/sim-delta", is_watched=False))
    assert known.p95_s(key, is_streamed=True) is None
    whole_s = known.p95_s(key, is_streamed=False)
    assert whole_s is not None and 0 < whole_s < 30
