from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection

from apps.audit.storage.sqlite_wal import WalCheckpointer
from tests.audit.examples import append, draft

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's own log"),
]


def log_size() -> int:
    return os.stat(f"{connection.settings_dict['NAME']}-wal").st_size


@pytest.fixture
def checkpointer() -> Iterator[WalCheckpointer]:
    wal_checkpointer = WalCheckpointer("default", cap_bytes=200_000)
    yield wal_checkpointer
    wal_checkpointer.close()


def test_log_beyond_the_cap_is_begun_anew(
    checkpointer: WalCheckpointer, team: uuid.UUID
) -> None:
    append(team, draft(bodies={"long": "x" * 300_000}))
    full = log_size()
    assert full > 200_000
    checkpointer.checkpoint()
    append(team, draft(bodies={"long": "x" * 150_000}))
    assert log_size() == full


def test_checkpoint_that_cannot_be_done_now_is_put_off(
    checkpointer: WalCheckpointer, team: uuid.UUID, caplog: pytest.LogCaptureFixture
) -> None:
    append(team)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM audit_entry")  # still open: the table is in use
        checkpointer.checkpoint()
    assert "was not checkpointed" in caplog.text
