"""The thread that takes tasks, with a real broker."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest
from celery import Celery
from celery.worker import WorkController, state

from apps.runs import tasks
from conductor_site import celery_consumer
from conductor_site.celery import configuration
from tests.patience import PATIENCE_S
from tests.services import Redis, redis

RUN_ID = uuid.UUID(int=7)


@pytest.fixture(scope="module")
def broker() -> Iterator[Redis]:
    with redis() as server:
        yield server


@pytest.fixture
def app(broker: Redis, monkeypatch: pytest.MonkeyPatch) -> Celery:
    app = Celery("test", fixups=[], set_as_current=False)
    app.config_from_object(configuration(broker.url))
    monkeypatch.setattr(celery_consumer, "app", app)
    monkeypatch.setattr(state, "should_stop", None)
    return app


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once a task has reached the executor."""
    taken = threading.Event()

    def hand_over() -> None:
        taken.set()

    monkeypatch.setattr(tasks, "_executor_with_room", hand_over)
    return taken


def test_a_task_is_taken_and_the_thread_ends_when_told(
    app: Celery, taken: threading.Event
) -> None:
    thread = celery_consumer.CeleryConsumer()
    thread.start()
    app.send_task(tasks.EXECUTE, [str(RUN_ID)])
    assert taken.wait(PATIENCE_S)
    thread.stop()
    thread.join()
    assert not thread.is_alive


def test_celery_is_started_anew_when_it_gives_up(
    app: Celery, taken: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(celery_consumer, "AGAIN_S", 0.01)
    begin, failures = WorkController.on_start, iter([True, True])

    def start(worker: WorkController) -> None:
        if next(failures, False):
            raise RuntimeError("a fault of Celery's")
        begin(worker)

    monkeypatch.setattr(WorkController, "on_start", start)
    thread = celery_consumer.CeleryConsumer()
    thread.start()
    app.send_task(tasks.EXECUTE, [str(RUN_ID)])
    assert taken.wait(PATIENCE_S)
    thread.stop()
    thread.join()
    assert not thread.is_alive
