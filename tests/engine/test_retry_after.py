"""When a run that failed may be asked for again: what its workers have said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apps.engine import events as ev
from apps.engine.conduct import conduct
from apps.engine.errors import CallFailed, CallFault
from apps.engine.limits import Limits
from apps.engine.ports import Pool, PoolWorker, Task
from apps.engine.testing import (
    ScriptedClient,
    ScriptedPlanner,
    make_plan,
    make_ports,
    run_virtual,
)

POOL = Pool(tuple(PoolWorker(n) for n in "abc"), "b", substitutes=("c",))
ALONE = replace(POOL, workers=(PoolWorker("a"),), fallback="a", substitutes=())
BUSY = CallFailed(CallFault.RATE_LIMITED, "busy", retry_after_s=40.0)
RESTING = CallFailed(CallFault.CIRCUIT_OPEN, "rests", rests_s=25.0)
BROKEN = CallFailed(CallFault.SERVER_ERROR, "broken")
WRONG_KEY = CallFailed(CallFault.UNAUTHORIZED, "wrong key")
OUT_OF_CREDIT = CallFailed(CallFault.QUOTA, "no credit", retry_after_s=9.0)


def failed(
    *failures: CallFailed, pool: Pool = POOL, call_s: float = 0.0, **limits: Any
) -> ev.RunFailed:
    """Let workers a, b and c fail in turn; return the end of the run."""
    by_worker = dict(zip("abc", failures, strict=False))
    client = ScriptedClient(lambda call, _: by_worker[call.worker])
    client.delay_s = lambda call, number: 2 * call_s  # half of it before the failure
    planner = ScriptedPlanner(make_plan(("a", ())))
    ports: Any = make_ports(planner=planner, client=client)
    bounds = Limits(**{"max_replans": 0, **limits})
    end: Any = run_virtual(conduct(Task("q"), pool, ports, bounds))
    assert end.code == "worker_failed"
    return end  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("failures", "wait_s"),
    [
        ((BUSY, BUSY, BUSY), 40),
        ((RESTING, BUSY, BUSY), 25),
        ((BUSY, RESTING, BROKEN), 25),
        ((BROKEN, BROKEN, BROKEN), None),
        ((WRONG_KEY, BUSY, BROKEN), 40),
        ((OUT_OF_CREDIT, RESTING, BROKEN), 25),
    ],
)
def test_C4_the_worker_that_can_be_asked_first_says_how_long_to_wait(
    failures: tuple[CallFailed, ...], wait_s: int | None
) -> None:
    calls = sum(failure is not RESTING for failure in failures)
    assert failed(*failures, max_attempts=calls).retry_after_s == wait_s


def test_C4_faults_that_all_last_name_no_wait() -> None:
    assert failed(OUT_OF_CREDIT, pool=ALONE).retry_after_s is None


def test_C4_the_time_that_has_passed_since_is_taken_off() -> None:
    assert failed(BUSY, BROKEN, BROKEN, call_s=5.0).retry_after_s == 30


def test_C4_a_wait_that_is_over_is_a_second() -> None:
    assert failed(BUSY, BROKEN, BROKEN, call_s=30.0).retry_after_s == 1


def test_C4_the_run_itself_does_not_wait_for_a_circuit_that_opens() -> None:
    opening = CallFailed(CallFault.SERVER_ERROR, "broken", rests_s=30.0)
    end = failed(opening, pool=ALONE, retry_base_s=0.0)
    assert end.retry_after_s == 30
    assert end.latency_ms < 1_000
