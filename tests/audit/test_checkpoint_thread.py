"""G12: checkpoints are made in time, and nothing stays without a copy for ever."""

from __future__ import annotations

import json
import logging
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.audit.checkpoints import thread as checkpoint_thread
from apps.audit.checkpoints.creation import uncovered_s
from apps.audit.checkpoints.export import AT_ONCE
from apps.audit.checkpoints.thread import TAIL_S, CheckpointThread
from apps.audit.metrics import COPIES_FAILED
from apps.audit.models import Checkpoint
from tests.audit.examples import append, chain_of, draft, execute
from tests.audit.tampering import checkpoint, copies_in_the_log, cut_tail, verify
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.CHECKPOINT_DIR = str(tmp_path / "checkpoints")
    return tmp_path / "checkpoints"


@pytest.fixture
def blocked(folder: Path) -> Path:
    """A folder that cannot be made, because a file has its name."""
    folder.write_text("in the way")
    return folder


def files(folder: Path) -> list[tuple[str, int]]:
    """Return team and seq of each line."""
    lines = "".join(file.read_text() for file in folder.iterdir()).splitlines()
    return [(said["team"], said["seq"]) for said in map(json.loads, lines)]


def age(team_id: uuid.UUID, seconds: int) -> None:
    """Let a team's entries be older than they are."""
    now = "now()" if connection.vendor == "postgresql" else "'now'"
    before = {
        "postgresql": f"{now} - interval '{seconds} seconds'",
        "sqlite": f"strftime('%Y-%m-%d %H:%M:%f', {now}, '-{seconds} seconds')",
    }[connection.vendor]
    execute(
        f"UPDATE audit_entry SET recorded_at = {before} WHERE team_id = %s", team_id
    )


def look(times: int = 1) -> CheckpointThread:
    """Return a thread that has looked once and ended, and looks again as often."""
    own = CheckpointThread()
    own.close()
    for _ in range(times - 1):
        own.look()
    return own


# --- in time -------------------------------------------------------------------------


def test_g12_an_entry_has_a_copied_checkpoint_without_anybody_asking(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(checkpoint_thread, "EVERY_S", 0.01)
    monkeypatch.setattr(checkpoint_thread, "TAIL_S", 0.0)
    is_there = threading.Event()

    class Tell(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            is_there.set()

    tell, logger = Tell(), logging.getLogger("conductor.checkpoints")
    own = CheckpointThread()
    logger.addHandler(tell)
    try:
        team_id = chain_of(3)
        assert is_there.wait(PATIENCE_S)
    finally:
        logger.removeHandler(tell)
        own.close()
    assert files(folder) == [(str(team_id), 3)]


def test_g12_the_intervals_keep_the_promise_even_if_one_look_fails():
    assert TAIL_S + 2 * checkpoint_thread.EVERY_S <= 60


def test_a_young_tail_is_left_to_grow(folder: Path):
    own = look()
    young, old = chain_of(2), chain_of(3)
    age(old, 16)
    own.look(older_than_s=TAIL_S)
    assert files(folder) == [(str(old), 3)]
    own.look()
    assert (str(young), 2) in files(folder)


def test_g12_what_is_left_is_signed_when_the_process_ends(folder: Path):
    own = CheckpointThread()
    team_id = chain_of(2)
    own.close()
    assert files(folder) == [(str(team_id), 2)]


def test_idle_teams_cost_two_looks_into_indexes(folder: Path):
    for _ in range(3):
        chain_of(1)
    checkpoint()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        checkpoint()
    assert len(queries) == 2


def test_the_age_of_what_no_copy_stands_for_is_told(blocked: Path):
    assert uncovered_s() == 0.0
    team_id = chain_of(2)
    age(team_id, 90)
    with pytest.raises(CommandError):
        checkpoint()
    assert 89 < uncovered_s() < 200
    blocked.unlink()
    checkpoint()
    assert uncovered_s() == 0.0


# --- copies --------------------------------------------------------------------------


def test_g12_processes_at_once_neither_double_nor_fight(folder: Path):
    teams = [chain_of(2) for _ in range(8)]
    start = threading.Barrier(4)

    def at_once() -> None:
        start.wait()
        look()

    threads = [threading.Thread(target=at_once) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(files(folder)) == sorted((str(team), 2) for team in teams)
    (file,) = folder.iterdir()
    assert verify("--checkpoints", file)[1] == ""


def test_more_than_one_handful_is_copied(folder: Path):
    for _ in range(AT_ONCE + 1):
        append(uuid.uuid4(), draft())
    assert f"{AT_ONCE + 1} checkpoints made, {AT_ONCE + 1} copied" in checkpoint()
    assert len(set(files(folder))) == AT_ONCE + 1


def test_g12_what_a_process_died_with_is_copied_by_another(folder: Path):
    team_id = chain_of(2)
    checkpoint()
    execute("UPDATE audit_checkpoint SET copied_at = NULL")
    assert "0 copied" in checkpoint()  # its process may still be at it
    execute("UPDATE audit_checkpoint SET claimed_at = '2026-01-01 00:00:00'")
    assert "1 copied" in checkpoint()
    assert files(folder) == [(str(team_id), 2)] * 2  # a line twice does no harm
    (file,) = folder.iterdir()
    assert verify("--checkpoints", file)[1] == ""


def test_g12_a_file_that_cannot_be_written_is_said_and_made_good(
    blocked: Path, caplog: pytest.LogCaptureFixture
):
    chain_of(2)
    failures = COPIES_FAILED.value()
    with copies_in_the_log() as lines:
        own = look(times=3)
    assert COPIES_FAILED.value() == failures + 3
    assert "checkpoints are in the log alone: CHECKPOINT_DIR: [Errno" in caplog.text
    assert str(blocked) in caplog.text
    assert len(lines) == 1
    blocked.unlink()
    with copies_in_the_log() as lines:
        own.look()
    assert (len(files(blocked)), lines) == (1, [])


def test_the_command_says_that_a_file_cannot_be_written(blocked: Path):
    chain_of(2)
    with pytest.raises(CommandError, match=r"CHECKPOINT_DIR: \[Errno"):
        checkpoint()


def test_g12_half_a_line_spoils_no_whole_one(folder: Path):
    team_id = chain_of(2)
    checkpoint()
    (file,) = folder.iterdir()
    with file.open("a") as torn:
        torn.write('{"hash":"sha256:0')
    append(team_id, draft())
    checkpoint()
    assert f"{file}: 2 checkpoints compared" in verify("--checkpoints", file)[0]
    cut_tail(team_id, 3)
    execute("DELETE FROM audit_checkpoint WHERE seq = 3")
    assert f"line 3 of {file}" in verify("--checkpoints", file)[1]


# --- trouble -------------------------------------------------------------------------


def test_a_database_that_is_away_stops_nothing(
    folder: Path, caplog: pytest.LogCaptureFixture
):
    chain_of(2)
    execute("ALTER TABLE audit_checkpoint RENAME TO audit_away")
    try:
        own = look()
    finally:
        execute("ALTER TABLE audit_away RENAME TO audit_checkpoint")
    assert "checkpoints: the database is away" in caplog.text
    own.look()
    assert len(files(folder)) == 1


def test_g12_an_unusable_key_is_said_and_stops_nothing(
    folder: Path, settings: Any, caplog: pytest.LogCaptureFixture
):
    chain_of(2)
    keys, settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS, ["k1:short"]
    own = look()
    assert "checkpoints: not made this time" in caplog.text
    assert "key 1 is not like id:base64 of 32 bytes" in caplog.text
    settings.ENCRYPTION_KEYS = keys
    own.look()
    assert Checkpoint.objects.across_teams().count() == 1
