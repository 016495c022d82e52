from __future__ import annotations

import subprocess
import sys
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from apps.core.ids import first_id, new_id

DAY = timedelta(days=1)


def test_id_is_of_version_7() -> None:
    made = new_id()
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


def test_id_tells_when_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id().int >> 80
    assert before <= made <= time.time_ns() // 1_000_000 + 1


def test_ids_ascend_within_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now)
    ids = [new_id() for _ in range(10_000)]
    assert ids == sorted(set(ids))
    assert {made.version for made in ids} == {7}


def test_ids_ascend_when_the_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_000_000_000)
    assert new_id() > first


def test_first_id_of_a_moment_parts_earlier_ids_from_later_ones() -> None:
    made = new_id()
    now = datetime.now(UTC)
    assert first_id(now - timedelta(seconds=1)) < made < first_id(now + DAY)
    assert first_id(now).version == 7


def test_first_id_of_the_distant_past_is_the_least() -> None:
    least = first_id(datetime(1, 1, 1, tzinfo=UTC))
    assert least == first_id(datetime(1970, 1, 1, tzinfo=UTC)) < new_id()


def test_last_62_bits_are_random() -> None:
    tails = {new_id().int & (1 << 62) - 1 for _ in range(2000)}
    assert len(tails) == 2000
    assert all(any(tail >> bit & 1 for tail in tails) for bit in range(62))


def test_threads_get_different_ids() -> None:
    found: list[list[uuid.UUID]] = [[] for _ in range(4)]

    def take(ids: list[uuid.UUID]) -> None:
        ids += [new_id() for _ in range(3000)]

    threads = [threading.Thread(target=take, args=(ids,)) for ids in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == sorted(ids) for ids in found)
    assert len({made for ids in found for made in ids}) == 12_000


FORK = """
import os
from apps.core.ids import first_id, new_id

new_id()
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, new_id().bytes)
    os._exit(0)
os.wait()
print(os.read(reader, 16)[8:] != new_id().bytes[8:])
"""


def test_forked_child_gets_ids_of_its_own() -> None:
    # In a process without threads, where forking is safe.
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
