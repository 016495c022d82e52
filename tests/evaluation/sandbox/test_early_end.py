"""A sandbox whose first process ends without a word: whose fault that is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from apps.sandbox.first_process import BEGUN
from apps.sandbox.launcher import _watch

LIMITS = {"wall_s": 30, "output_bytes": 1, "memory_bytes": 1 << 30}


@pytest.fixture
def output() -> Iterator[int]:
    file = os.memfd_create("out")
    yield file
    os.close(file)


def end_after(*said: object, output: int) -> dict[str, object]:
    """Return what is made of a first process that says this, and no more."""
    status, writing = os.pipe()
    for line in said:
        os.write(writing, json.dumps(line).encode() + b"\n")
    os.close(writing)
    try:
        return _watch(os.getpid(), LIMITS, status, (output, output))
    finally:
        os.close(status)


def test_before_a_program_starts_it_is_the_machine_that_fails(output: int) -> None:
    assert end_after(output=output) == {"problem": "it ended early"}


def test_once_programs_have_started_they_have_ended_it(output: int) -> None:
    assert end_after(BEGUN, output=output) == {"limit": "crashed"}


def test_what_is_said_at_the_end_counts(output: int) -> None:
    ended = {"statuses": [0], "cpu_ms": 3}
    assert end_after(BEGUN, ended, output=output) == ended
