"""A commit of the ledger waits for others that write to the same SQLite database."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest
from django.db import connection
from django.db.utils import OperationalError

from apps.audit import group_commit
from apps.audit.writer import LedgerWriter
from tests.audit.examples import batch
from tests.audit.test_writer import outcomes

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "sqlite", reason="PostgreSQL has no such lock"
    ),
]


@pytest.fixture
def other() -> Iterator[sqlite3.Connection]:
    """Give another connection, which is writing."""
    name = connection.settings_dict["NAME"]
    with closing(sqlite3.connect(name, check_same_thread=False)) as made:
        made.isolation_level = None
        made.execute("BEGIN IMMEDIATE")
        yield made


def test_commit_begins_at_the_first_look_after_the_other_is_done(
    writer: LedgerWriter, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            other.execute("COMMIT")

    monkeypatch.setattr("apps.audit.group_commit.time.sleep", wait)
    assert outcomes(writer, [batch(uuid.uuid4())]) == [[1]]
    assert waits == [group_commit.LOCK_POLL_S] * 3


def test_other_that_is_never_done_is_an_outage(
    writer: LedgerWriter, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "LOCK_WAIT_S", 0.0)
    monkeypatch.setattr(
        "apps.audit.group_commit.time.sleep", lambda _: time.monotonic()
    )
    (error,) = outcomes(writer, [batch(uuid.uuid4())])
    assert isinstance(error, Exception)
    assert isinstance(error.__cause__, OperationalError)
