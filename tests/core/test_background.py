"""Background work gives way to requests: how often it pauses, and for how long."""

from __future__ import annotations

import pytest
from django.db import transaction

from apps.core.background.pacing import (
    SLICE_S,
    BackgroundTime,
    BackgroundWork,
    OpenRequests,
    give_way,
)


class Machine:
    """A clock on which only waits and work take time."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.used_s = 0.0
        self.waits: list[float] = []
        self.is_ending = False
        self.requests = OpenRequests()
        self.background_time = BackgroundTime(self.requests, clock=lambda: self.now_s)

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now_s += seconds
        return self.is_ending

    def use(self, seconds: float) -> None:
        self.now_s += seconds
        self.used_s += seconds

    def thread(self) -> BackgroundWork:
        return BackgroundWork(self.wait, self.background_time, used=lambda: self.used_s)


def test_background_has_a_tenth_of_a_core_while_a_request_is_open() -> None:
    machine = Machine()
    work = machine.thread()
    with machine.requests.one():
        for _ in range(100):
            machine.use(0.004)
            assert not work.step_done()
    assert machine.used_s / machine.now_s == pytest.approx(0.1)


def test_threads_have_it_together() -> None:
    machine = Machine()
    threads = [machine.thread() for _ in range(3)]
    with machine.requests.one():
        for _ in range(30):
            for work in threads:
                machine.use(0.004)
                work.step_done()
    assert machine.used_s / machine.now_s <= 0.11


def test_background_has_most_of_the_time_while_no_request_is_open() -> None:
    machine = Machine()
    work = machine.thread()
    for _ in range(100):
        machine.use(0.008)
        work.step_done()
    assert machine.used_s / machine.now_s == pytest.approx(0.8)


def test_pause_ends_soon_after_the_last_request() -> None:
    machine = Machine()
    work = machine.thread()
    with machine.requests.one():
        machine.use(3.0)  # one long step, which owes 27 s

        def leave(seconds: float) -> bool:
            machine.requests.count -= len(machine.waits) == 2
            return machine.wait(seconds)

        work._wait = leave
        work.step_done()
        machine.requests.count += 1
    assert machine.now_s < 5.0


def test_thread_that_is_to_end_does_not_pay_its_debt() -> None:
    machine = Machine()
    work = machine.thread()
    machine.is_ending = True
    with machine.requests.one():
        machine.use(3.0)
        assert work.step_done()
    assert len(machine.waits) == 1


def test_long_loop_pauses_after_each_slice() -> None:
    machine = Machine()
    with machine.thread().here():
        for _ in range(100):
            machine.use(SLICE_S / 4 + 1e-9)
            give_way()
    assert len(machine.waits) == 25


@pytest.mark.django_db
def test_nothing_pauses_in_a_transaction() -> None:
    machine = Machine()
    with machine.thread().here():
        with transaction.atomic():
            machine.use(1.0)
            give_way()
        assert machine.waits == []


def test_other_threads_never_pause() -> None:
    machine = Machine()
    with machine.thread().here():
        pass
    machine.use(1.0)
    give_way()
    assert machine.waits == []
