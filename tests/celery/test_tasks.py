"""Tasks on their way: from who leaves a run, and to the loop that executes it."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from celery import Celery
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError

from apps.core.errors import Overloaded
from apps.runs import tasks
from apps.runs.coordination.run_notifier import MAX_WAITING, RunNotifier
from conductor_site.celery import app, broker_url, configuration
from tests.patience import PATIENCE_S

RUN_ID = uuid.UUID(int=7)


# --- what Celery is told -------------------------------------------------------------


@pytest.mark.parametrize(
    ("redis_url", "told"),
    [
        ("redis://:secret@host:6379/2", "redis://:secret@host:6379/2"),
        (
            "unix:///run/redis.sock?db=3",
            "redis+socket:///run/redis.sock?virtual_host=3",
        ),
        ("rediss://host/0", "rediss://host/0?ssl_cert_reqs=required"),
        ("rediss://host/0?ssl_cert_reqs=none", "rediss://host/0?ssl_cert_reqs=none"),
    ],
)
def test_the_broker_is_the_site_s_redis(redis_url: str, told: str) -> None:
    assert broker_url(redis_url) == told


def test_tasks_are_plain_data_acknowledged_before_they_run_without_a_result() -> None:
    made = Celery("test", fixups=[], set_as_current=False)
    made.config_from_object(configuration("redis://host/0"))
    assert (made.conf.accept_content, made.conf.task_serializer) == (["json"], "json")
    assert made.conf.task_ignore_result and made.conf.result_backend is None
    assert not made.conf.task_acks_late
    assert made.conf.broker_connection_retry_on_startup


def test_what_is_sent_is_what_a_worker_knows() -> None:
    app.loader.import_default_modules()
    due = [entry["task"] for entry in app.conf.beat_schedule.values()]
    assert {tasks.EXECUTE, tasks.SWEEP, *due} <= set(app.tasks)
    assert (tasks.EXECUTE, tasks.SWEEP) == ("runs.execute", "runs.sweep")


# --- who leaves a run ----------------------------------------------------------------


class _SilentApp:
    """Sends to a broker that answers only when it is told to."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.sent = 0

    def send_task(self, *_: object, **__: object) -> None:
        assert self.may_answer.wait(PATIENCE_S)
        self.sent += 1


silent_app = _SilentApp()


def test_a_silent_broker_keeps_nobody_waiting(settings) -> None:
    settings.TASK_APP = f"{__name__}.silent_app"
    for _ in range(100):
        tasks.notify_of_run(RUN_ID)
    assert silent_app.sent == 0
    silent_app.may_answer.set()
    tasks._waker().settle()
    assert silent_app.sent == 100


class _Broker:
    """Is away or there, and says what it was told."""

    def __init__(self) -> None:
        self.is_away = True
        self.told: list[uuid.UUID] = []
        self.calls = threading.Semaphore(0)

    def tell(self, run_id: uuid.UUID) -> None:
        try:
            if self.is_away:
                raise OperationalError("connection refused")
            self.told.append(run_id)
        finally:
            self.calls.release()


def test_a_lost_broker_is_logged_once_and_its_return_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "apps.runs.coordination.run_notifier")
    broker = _Broker()
    waker = RunNotifier(broker.tell)
    for number in range(5):
        broker.is_away = number < 3
        waker.wake(uuid.UUID(int=number))
        assert broker.calls.acquire(timeout=PATIENCE_S)
        waker.settle()
    assert broker.told == [uuid.UUID(int=3), uuid.UUID(int=4)]
    assert [record.getMessage() for record in caplog.records] == [
        "the broker is unreachable; sweeps will find runs: connection refused",
        "the broker is reachable again",
    ]


def test_news_for_a_silent_broker_are_dropped_when_there_are_too_many() -> None:
    silence = threading.Event()
    told: list[uuid.UUID] = []

    def tell(run_id: uuid.UUID) -> None:
        silence.wait(PATIENCE_S)
        told.append(run_id)

    waker = RunNotifier(tell)
    for _ in range(MAX_WAITING + 100):
        waker.wake(RUN_ID)
    silence.set()
    waker.settle()
    assert MAX_WAITING <= len(told) <= MAX_WAITING + 1


# --- who executes it -----------------------------------------------------------------


class _Executor:
    """Claims what it is handed, on a loop of its own, as long as it has room."""

    def __init__(self) -> None:
        self.room = 1
        self.claimed: list[uuid.UUID] = []
        self.loop = asyncio.new_event_loop()
        self.lease_keeper = SimpleNamespace(sweep=self._sweep)
        self.swept = threading.Event()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    async def claim(self, run_id: uuid.UUID) -> bool:
        self.claimed.append(run_id)
        return True

    async def _sweep(self) -> None:
        self.swept.set()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE_S)
        self.loop.close()


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Executor]:
    executor = _Executor()
    monkeypatch.setattr(tasks, "get_executor", lambda: executor)
    yield executor
    executor.close()


def test_a_task_hands_its_run_to_the_loop(executor: _Executor) -> None:
    tasks.run_execute_task(str(RUN_ID))
    tasks.run_sweep_task()
    assert executor.swept.wait(PATIENCE_S)
    assert executor.claimed == [RUN_ID]


def test_a_full_process_takes_no_task_until_it_has_room(executor: _Executor) -> None:
    executor.room = 0
    task = threading.Thread(target=tasks.run_execute_task, args=(str(RUN_ID),))
    task.start()
    task.join(2 * tasks.FULL_POLL_S)
    assert task.is_alive() and executor.claimed == []
    executor.room = 1
    task.join(PATIENCE_S)
    tasks.run_sweep_task()
    assert executor.swept.wait(PATIENCE_S)
    assert executor.claimed == [RUN_ID]


def test_a_process_that_closes_leaves_its_task_to_others(
    executor: _Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor.room = 0
    task = threading.Thread(target=tasks.run_execute_task, args=(str(RUN_ID),))
    task.start()

    def closed() -> _Executor:
        raise Overloaded("this process executes no runs")

    monkeypatch.setattr(tasks, "get_executor", closed)
    task.join(PATIENCE_S)
    assert not task.is_alive() and executor.claimed == []


def test_a_claim_that_fails_is_logged_and_left_to_the_sweeps(
    executor: _Executor,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(run_id: uuid.UUID) -> bool:
        raise OSError("the database is away")

    monkeypatch.setattr(executor, "claim", fail)
    tasks.run_execute_task(str(RUN_ID))
    tasks.run_sweep_task()  # behind it, in the same order
    assert executor.swept.wait(PATIENCE_S)
    assert f"run {RUN_ID}: left to the next sweep" in caplog.text


def test_the_waker_of_the_settings_is_there(settings) -> None:
    assert import_string("apps.runs.tasks.notify_of_run") is tasks.notify_of_run
    assert import_string(settings.TASK_APP) is app
