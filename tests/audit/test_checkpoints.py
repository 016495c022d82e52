"""G12: the tail cannot be cut unseen. What was signed, and copied elsewhere, shows it.

Whoever tampers here writes to the database as they like, and leaves chains that hold by
themselves: heads fit, hashes follow.
"""

from __future__ import annotations

import base64
import json
import logging
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from channels.db import database_sync_to_async
from django.core.management import CommandError, call_command
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as property_settings
from hypothesis import strategies as st

from apps.audit.checkpoints import format as checkpoint_format
from apps.audit.models import Checkpoint
from apps.audit.writer import LedgerWriter
from apps.core.logs import JSON, TEXT, Formatter
from tests.audit.examples import RUN, append, batch, chain_of, draft, execute
from tests.audit.tampering import (
    checkpoint,
    copied_lines,
    cut_tail,
    public_key,
    remove_checkpoints,
    remove_team,
    rewrite,
    verify,
)

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = (
    f"{name}:{base64.b64encode(bytes([n]) * 32).decode()}"
    for n, name in enumerate(("old", "new"), start=1)
)
Tampering = Callable[[uuid.UUID, int], None]


@pytest.fixture
def copies(tmp_path: Path) -> Callable[[], Path]:
    """Sign and copy now; return the file that an auditor has got."""
    path = tmp_path / "copies.jsonl"

    def copy() -> Path:
        with path.open("a") as file:
            file.writelines(f"{line}\n" for line in copied_lines())
        return path

    return copy


@pytest.fixture
def every_five(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 entries take too long for some tests."""
    monkeypatch.setattr(checkpoint_format, "EVERY_ENTRIES", 5)


def places(team_id: uuid.UUID) -> list[int]:
    rows = Checkpoint.objects.for_team(team_id).order_by("seq")
    return list(rows.values_list("seq", flat=True))


# --- what is found -------------------------------------------------------------------


def test_g12_sound_ledger_agrees_with_its_checkpoints_and_their_copies(copies):
    chain_of(3)
    file = copies()
    out, err = verify("--checkpoints", file)
    assert f"{file}: 1 checkpoints compared" in out
    assert "3 entries, 3 bodies, 0 erased, 1 checkpoints, 3 codes, ends with 3" in out
    assert err == ""


def test_g12_a_cut_tail_is_found_in_its_exact_place(copies):
    team_id = chain_of(7)
    copies()
    cut_tail(team_id, 5)
    _, err = verify()
    assert f"team {team_id}: 4 entries" in err
    assert "FAULT tail_missing at seq 5: the checkpoint of '20" in err
    assert "is at 7, the last entry at 4" in err


def test_g12_a_tail_that_was_cut_with_its_checkpoints_is_found_by_the_copies(copies):
    team_id = chain_of(7)
    file = copies()
    cut_tail(team_id, 5)
    remove_checkpoints(team_id)
    assert verify()[1] == ""
    _, err = verify("--checkpoints", file)
    assert f"FAULT tail_missing at seq 5: line 1 of {file} of '20" in err
    assert "1 of 1 chains do not hold" in err


def test_g12_a_tail_that_has_grown_again_is_found(copies):
    team_id = chain_of(7)
    file = copies()
    cut_tail(team_id, 5)
    append(team_id, *(draft(f"run.other_{n}") for n in range(9)))
    assert "FAULT rewritten at seq 7" in verify()[1]
    remove_checkpoints(team_id)
    copies()
    assert "FAULT rewritten at seq 7" in verify("--checkpoints", file)[1]


def test_g12_a_chain_made_anew_is_found(copies):
    team_id = chain_of(4)
    copies()
    append(team_id, draft(), draft())
    file = copies()
    rewrite(team_id, 2)
    assert "FAULT rewritten at seq 4: stored 'sha256:" in verify()[1]
    remove_checkpoints(team_id)
    assert "FAULT rewritten at seq 4" in verify("--checkpoints", file)[1]


def test_g12_a_team_that_is_gone_is_found(copies):
    chain_of(2)
    team_id = chain_of(3)
    file = copies()
    remove_team(team_id)
    assert "1 chain holds" in verify()[0]
    _, err = verify("--checkpoints", file)
    assert f"team {team_id}: 0 entries" in err
    assert "FAULT tail_missing at seq 1" in err


def test_g12_a_team_that_left_nothing_but_checkpoints_is_found(copies):
    team_id = chain_of(3)
    copies()
    for table in ("entry", "content", "chainhead"):
        execute(f"DELETE FROM audit_{table} WHERE team_id = %s", team_id)
    assert "FAULT tail_missing at seq 1" in verify()[1]


def test_g12_an_entry_taken_out_in_the_middle_is_a_gap(copies):
    team_id = chain_of(3)
    copies()
    append(team_id, draft())
    file = copies()
    execute("DELETE FROM audit_entry WHERE team_id = %s AND seq = 3", team_id)
    assert "FAULT sequence_gap at seq 3" in verify("--checkpoints", file)[1]


def test_g12_one_run_reaches_the_newest_checkpoint(copies):
    team_id = chain_of(7)
    copies()
    assert "7 entries, 7 bodies, 0 erased, 1 checkpoints" in verify("--run", RUN)[0]
    cut_tail(team_id, 5)
    assert "FAULT tail_missing at seq 5" in verify("--run", RUN)[1]


@property_settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)
@given(
    history=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    rest=st.integers(0, 3),
    place=st.floats(0, 1, exclude_max=True),
    tampering=st.sampled_from([cut_tail, rewrite]),
    is_thorough=st.booleans(),
)
def test_g12_whatever_is_cut_or_made_anew_before_the_last_copy_is_found(
    every_five: None,
    tmp_path: Path,
    history: list[int],
    rest: int,
    place: float,
    tampering: Tampering,
    is_thorough: bool,
):
    team_id, lines = uuid.uuid4(), []
    for entries in history:
        append(team_id, *([draft(bodies={"text": "a"})] * entries))
        lines += copied_lines()
    covered, total = sum(history), sum(history) + rest
    if rest:
        append(team_id, *([draft()] * rest))
        lines += copied_lines() if is_due(covered, total) else []
    file = tmp_path / f"{team_id}.jsonl"
    file.write_text("\n".join(lines))
    assert verify("--team", team_id, "--checkpoints", file)[1] == ""
    seq = 1 + int(place * total)
    tampering(team_id, seq)
    if is_thorough:
        remove_checkpoints(team_id)
    _, err = verify("--team", team_id, "--checkpoints", file)
    told = map(json.loads, lines)
    last = max(said["seq"] for said in told if said["team"] == str(team_id))
    assert ("FAULT" in err) == (seq <= last or is_thorough)
    assert ("checkpoint_missing" in err) <= is_thorough


def is_due(before: int, after: int) -> bool:
    return after // 5 > before // 5


# --- what proves nothing -------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "kind"),
    [
        ("signature", "00" * 64, "checkpoint_forged"),
        ("signature", "no digits", "checkpoint_forged"),
        ("recorded", "2020-01-01T00:00:00.000000Z", "checkpoint_forged"),
        ("hash", "sha256:" + "0" * 64, "checkpoint_forged"),
        ("key_id", "ed25519:0000000000000000", "checkpoint_key_unknown"),
    ],
)
def test_g12_a_touched_checkpoint_is_found(copies, column, value, kind):
    team_id = chain_of(3)
    copies()
    execute(
        f"UPDATE audit_checkpoint SET {column} = %s WHERE team_id = %s", value, team_id
    )
    assert f"FAULT {kind} at seq 3: its key is 'ed25519:" in verify()[1]


def test_g12_a_checkpoint_of_another_team_proves_nothing(copies):
    team_id = chain_of(3)
    copies()
    other = chain_of(3)
    execute(
        "UPDATE audit_checkpoint SET team_id = %s WHERE team_id = %s", other, team_id
    )
    assert "FAULT checkpoint_forged at seq 3" in verify("--team", other)[1]


def test_g12_a_forged_copy_is_named_and_blames_no_chain(copies):
    chain_of(3)
    file = copies()
    file.write_text(file.read_text().replace('"seq":3', '"seq":9'))
    _, err = verify("--checkpoints", file)
    assert f"{file} line 1: checkpoint_forged, key 'ed25519:" in err
    assert "1 copied checkpoints are not genuine" in err
    assert "FAULT" not in err


def test_a_file_without_checkpoints_is_taken_for_a_mistake(tmp_path):
    chain_of(1)
    file = tmp_path / "log"
    odd = {
        "v": 1,
        "team": "x",
        "seq": 1,
        "hash": "",
        "recorded": "",
        "key": "",
        "signature": "",
    }
    lines = ["{", "[" * 100_000, json.dumps({"event": "{}"}), json.dumps(odd)]
    lines += [json.dumps(odd | change) for change in ({"seq": "1"}, {"hash": 1})]
    file.write_text("\n".join(lines))
    assert "--checkpoints: there are none in" in verify("--checkpoints", file)[1]
    missing = tmp_path / "missing"
    assert "No such file" in verify("--checkpoints", missing)[1]
    assert "whole chains" in verify("--checkpoints", file, "--run", RUN)[1]


@pytest.mark.parametrize("form", [JSON, TEXT])
def test_g12_a_log_is_a_copy(copies, form, tmp_path):
    team_id = chain_of(3)
    (line,) = copied_lines()
    values = ("conductor.checkpoints", logging.INFO, "", 0, "%s", (line,), None)
    log = tmp_path / "log"
    told = Formatter(form).format(logging.LogRecord(*values))
    log.write_text(f"another line\n{told}\n")
    assert f"{log}: 1 checkpoints compared" in verify("--checkpoints", log)[0]
    cut_tail(team_id, 2)
    remove_checkpoints(team_id)
    assert f"line 2 of {log}" in verify("--checkpoints", log)[1]


# --- which copies are looked at ------------------------------------------------------


def test_copies_of_other_teams_are_left_out_for_one_team(copies):
    team_id, other = chain_of(2), chain_of(2)
    file = copies()
    remove_team(other)
    assert verify("--team", team_id, "--checkpoints", file)[1] == ""


def test_g12_a_backup_is_asked_for_what_it_can_know(copies):
    """Restoring one is a cut tail; `--until` its time, it is none."""
    team_id = chain_of(2)
    copies()
    until = Checkpoint.objects.for_team(team_id).get().recorded
    append(team_id, draft())
    file = copies()
    cut_tail(team_id, 3)
    execute("DELETE FROM audit_checkpoint WHERE seq = 3")
    assert "tail_missing at seq 3" in verify("--checkpoints", file)[1]
    for time in (until, until.removesuffix("Z")):
        out, err = verify("--checkpoints", file, "--until", time)
        assert (err, "1 checkpoints compared" in out) == ("", True)


# --- when they are made --------------------------------------------------------------


def test_g12_every_thousandth_entry_brings_one_in_the_same_transaction(copies):
    team_id = uuid.uuid4()
    append(team_id, *([draft()] * 999))
    assert places(team_id) == []
    with pytest.raises(RuntimeError), transaction.atomic():
        append(team_id, draft())
        assert places(team_id) == [1000]
        raise RuntimeError("undone")
    assert places(team_id) == []
    append(team_id, *([draft()] * 4))
    assert places(team_id) == [1003]
    append(team_id, *([draft()] * 997))
    assert places(team_id) == [1003, 2000]
    assert verify("--checkpoints", copies())[1] == ""


async def test_g12_the_writer_of_runs_brings_them_as_well(
    every_five: None, writer: LedgerWriter, team: uuid.UUID
):
    for _ in range(4):
        await writer.write(batch(team, draft(), draft(), draft()))
    writer.close()
    assert await database_sync_to_async(places)(team) == [6, 12]


def test_a_chain_that_has_not_grown_gets_no_second_one():
    team_id = chain_of(3)
    assert "1 checkpoints made, 1 copied to the log alone" in checkpoint()
    assert "0 checkpoints made, 0 copied" in checkpoint()
    assert places(team_id) == [3]


def test_g12_a_signed_place_is_not_signed_again_for_another_chain(every_five: None):
    """Who has cut the tail gets no checkpoint for what grows in its place."""
    team_id = uuid.uuid4()
    append(team_id, *([draft()] * 5))
    cut_tail(team_id, 5)
    append(team_id, draft("run.other"))
    assert "FAULT rewritten at seq 5" in verify()[1]


# --- keys ----------------------------------------------------------------------------


def test_g12_a_former_key_goes_on_verifying(settings, copies):
    settings.ENCRYPTION_KEYS = [OLD]
    team_id = chain_of(2)
    copies()
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    append(team_id, draft())
    assert verify("--checkpoints", copies())[1] == ""
    assert Checkpoint.objects.for_team(team_id).values("key_id").distinct().count() == 2


def test_g12_a_missing_key_is_named(settings, copies):
    settings.ENCRYPTION_KEYS = [OLD]
    append(uuid.uuid4(), draft())
    file = copies()
    settings.ENCRYPTION_KEYS = [NEW]
    _, err = verify("--checkpoints", file)
    assert "FAULT mac_key_unknown at seq 1" in err
    assert "line 1: checkpoint_key_unknown, key 'ed25519:" in err


def test_g12_the_public_key_is_enough(settings, copies, tmp_path):
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    team_id = uuid.uuid4()
    append(team_id, draft(), draft())
    file, keys = copies(), tmp_path / "keys.pem"
    keys.write_bytes(public_key())
    settings.ENCRYPTION_KEYS = ["auditor:" + OLD.partition(":")[2]]
    assert verify("--checkpoints", file, "--public-key", keys)[1] == ""
    assert "checkpoint_key_unknown" in verify("--checkpoints", file)[1]
    cut_tail(team_id, 2)
    found = verify("--checkpoints", file, "--public-key", keys)[1]
    assert "FAULT tail_missing at seq 2" in found


def test_g12_no_key_but_the_given_ones_is_believed(settings, copies, tmp_path):
    settings.ENCRYPTION_KEYS = [OLD]
    keys = tmp_path / "keys.pem"
    keys.write_bytes(public_key())
    settings.ENCRYPTION_KEYS = [NEW]
    append(uuid.uuid4(), draft())
    assert (
        "checkpoint_key_unknown"
        in verify("--checkpoints", copies(), "--public-key", keys)[1]
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no public key in PEM format"),
        (
            b"-----BEGIN PUBLIC KEY-----\nAA\n-----END PUBLIC KEY-----\n",
            "cannot be read",
        ),
    ],
)
def test_what_is_no_public_key_is_refused(tmp_path, text, words):
    keys = tmp_path / "keys.pem"
    keys.write_bytes(text)
    with pytest.raises(CommandError, match=words):
        call_command("audit_verify", public_key=[keys])
    assert "No such file" in verify("--public-key", tmp_path / "missing")[1]
