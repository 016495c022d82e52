"""T12: codes that only the site can write: one run, checkpoints, old chains, keys."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps as django_apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection

from apps.audit import macs
from apps.audit.chain import FaultKind, Position
from apps.audit.checkpoints import format as checkpoint_format
from apps.audit.checkpoints.thread import CheckpointThread
from apps.audit.metrics import CHECKPOINTS_REFUSED
from apps.audit.models import Checkpoint, Entry
from apps.audit.verify import verify_subject, verify_team
from apps.audit.writer import LedgerWriter
from tests.audit.examples import (
    RUN,
    append,
    batch,
    chain_of,
    draft,
    execute,
    fault_of,
    place,
)
from tests.audit.tampering import (
    checkpoint,
    copies_in_the_log,
    entry_like,
    erase,
    forge_entry,
    forge_erasure,
    head_of,
    mac_at,
    set_head,
    set_mac,
    verify,
)

pytestmark = pytest.mark.django_db(transaction=True)

OLD, NEW = (
    f"{name}:{base64.b64encode(bytes([n]) * 32).decode()}"
    for n, name in enumerate(("old", "new"), start=1)
)


# --- one run -------------------------------------------------------------------------


@pytest.fixture
def between() -> uuid.UUID:
    """A chain of 9 entries; those about RUN are 4, 5 and 6."""
    team_id = uuid.uuid4()
    for seq in range(1, 10):
        subject = RUN if seq in {4, 5, 6} else uuid.uuid4()
        append(team_id, draft(subject_id=subject, bodies={"text": str(seq)}))
    return team_id


def test_a_forged_erasure_is_found_with_the_run_alone(between: uuid.UUID) -> None:
    forge_erasure(between, 5)
    append(between, draft(subject_id=uuid.uuid4()))
    assert fault_of(verify_subject(between, RUN)) == (5, FaultKind.CONTENT_MISSING)


def test_an_erasure_that_was_rewritten_covers_nothing(between: uuid.UUID) -> None:
    erase(between, 4)
    erase(between, 5)
    entry = Entry.objects.for_team(between).get(seq=10)
    digest = verify_digest(between, 6)
    forged = bytes(entry.canonical).replace(verify_digest(between, 4), digest)
    forged = forged.replace(b'"seq":4', b'"seq":6')
    execute("UPDATE audit_entry SET canonical = %s WHERE seq = 10", forged)
    execute("UPDATE audit_content SET salt = NULL, sealed = NULL WHERE seq = 6")
    assert fault_of(verify_subject(between, RUN)) == (4, FaultKind.CONTENT_MISSING)


def verify_digest(team_id: uuid.UUID, seq: int) -> bytes:
    canonical = bytes(Entry.objects.for_team(team_id).get(seq=seq).canonical)
    return canonical.split(b'"digest":"')[1].split(b'"')[0]


def test_a_head_without_a_code_is_found_with_any_run(between: uuid.UUID) -> None:
    set_head(between, mac=b"")
    assert fault_of(verify_subject(between, RUN)) == (9, FaultKind.MAC_MISSING)


@pytest.mark.parametrize("seq", [4, 5, 6])
def test_t15_an_entry_of_the_run_under_another_subject_is_found(
    between: uuid.UUID, seq: int
) -> None:
    hide(between, seq)
    assert fault_of(verify_subject(between, RUN)) == (seq, FaultKind.COLUMN_CHANGED)
    assert f"FAULT column_changed at seq {seq}: it is about '{RUN}'" in hidden()


def test_t15_a_run_that_is_hidden_altogether_is_found(between: uuid.UUID) -> None:
    for seq in (4, 5, 6):
        hide(between, seq)
    assert "FAULT column_changed at seq 4" in hidden()


def test_t15_an_entry_hidden_far_from_the_others_is_found_by_the_command(
    between: uuid.UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.audit.verify.NEARBY", 1)
    for _ in range(3):
        append(between, draft(subject_id=uuid.uuid4()))
    (seq,) = append(between, draft())
    hide(between, seq)
    assert verify_subject(between, RUN).is_intact
    assert f"FAULT column_changed at seq {seq}" in hidden()


def test_an_entry_that_only_names_the_run_is_not_taken_for_a_hidden_one(
    between: uuid.UUID,
) -> None:
    append(between, draft(subject_id=uuid.uuid4(), data={"run": str(RUN)}))
    assert verify("--run", RUN)[1] == ""


def hide(team_id: uuid.UUID, seq: int) -> None:
    execute(
        "UPDATE audit_entry SET subject_id = %s WHERE team_id = %s AND seq = %s",
        uuid.uuid4(),
        team_id,
        seq,
    )


def hidden() -> str:
    return verify("--run", RUN)[1]


# --- what is signed ------------------------------------------------------------------


def test_no_checkpoint_is_signed_over_a_forged_entry(
    caplog: pytest.LogCaptureFixture,
) -> None:
    team_id, other = chain_of(3), chain_of(2)
    forge_entry(team_id, entry_like(team_id, 1))
    refused = CHECKPOINTS_REFUSED.value()
    with copies_in_the_log() as lines:
        own = CheckpointThread()
        own.close()
    assert [str(other) in line for line in lines] == [True]
    assert CHECKPOINTS_REFUSED.value() == refused + 1
    assert f"the head of team {team_id} is not signed: mac_forged" in caplog.text


def test_no_checkpoint_is_signed_over_what_follows_a_forged_entry() -> None:
    team_id = chain_of(3)
    forge_entry(team_id, entry_like(team_id, 1))
    append(team_id, draft())
    append(team_id, draft())
    assert "0 checkpoints made" in checkpoint()
    assert bytes(head_of(team_id).mac) == b""


def test_the_commit_at_a_thousandth_entry_signs_no_forged_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoint_format, "EVERY_ENTRIES", 5)
    sound, team_id = chain_of(3), chain_of(3)
    forge_entry(team_id, entry_like(team_id, 1))
    for each in (sound, team_id):
        append(each, draft(), draft())
    signed = Checkpoint.objects.across_teams().values_list("team_id", flat=True)
    assert list(signed) == [sound]


def test_a_head_with_an_odd_hash_is_not_signed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    team_id = chain_of(2)
    set_head(team_id, hash="none")
    assert "0 checkpoints made" in checkpoint()
    assert f"the head of team {team_id} is not signed: it holds no hash" in caplog.text
    assert place(team_id) == (2, FaultKind.HEAD_CHANGED)


# --- going on ------------------------------------------------------------------------


def test_an_accepted_chain_is_signed_again_and_the_forged_entry_stays_named() -> None:
    team_id = chain_of(3)
    seq = forge_entry(team_id, entry_like(team_id, 1))
    set_head(team_id, mac_from=99)
    append(team_id, draft())
    call_command("audit_accept", team=team_id, reason="an intruder; see the report")
    assert "1 checkpoints made" in checkpoint()
    assert place(team_id) == (seq, FaultKind.MAC_MISSING)
    entry = Entry.objects.for_team(team_id).get(action="audit.head_accepted")
    assert b'"reason":"an intruder; see the report"' in bytes(entry.canonical)
    assert head_of(team_id).mac_from == 1


def test_a_sound_chain_is_not_accepted() -> None:
    team_id = chain_of(3)
    for unknown in (team_id, uuid.uuid4()):
        with pytest.raises(CommandError, match="needs no acceptance"):
            call_command("audit_accept", team=unknown, reason="none")
    assert verify_team(team_id).entries == 3


def test_what_many_teams_write_in_one_commit_has_codes(writer: LedgerWriter) -> None:
    teams = [uuid.uuid4() for _ in range(20)]
    results: list[Any] = []
    for team_id in teams * 3:
        writer.submit(batch(team_id, draft(), draft()), results.append)
    writer.close()
    reports = [verify_team(team_id) for team_id in teams]
    assert [(r.fault, r.entries, r.macs) for r in reports] == [(None, 6, 6)] * 20


# --- chains of versions without codes ------------------------------------------------


@pytest.fixture
def old_chain() -> uuid.UUID:
    """A chain as the migration finds it, with an erased text, and leaves it."""
    team_id = chain_of(5)
    erase(team_id, 2)
    execute("UPDATE audit_entry SET mac = %s", b"")
    execute("UPDATE audit_chainhead SET mac = %s, mac_from = 0", b"")
    migrate()
    return team_id


def migrate() -> None:
    name = "apps.audit.migrations.0003_message_authentication_codes"
    with connection.schema_editor() as editor:
        importlib.import_module(name).authenticate_heads(django_apps, editor)


def test_an_old_chain_verifies_as_before(old_chain: uuid.UUID) -> None:
    report = verify_team(old_chain)
    assert (report.fault, report.entries, report.macs) == (None, 6, 0)
    assert report.erased == 1
    assert verify_subject(old_chain, RUN).is_intact


def test_codes_are_demanded_from_where_an_old_chain_was_migrated(
    old_chain: uuid.UUID,
) -> None:
    append(old_chain, draft(), draft())
    assert verify_team(old_chain).macs == 2
    assert "1 checkpoints made" in checkpoint()
    set_mac(old_chain, 7, b"")
    assert place(old_chain) == (7, FaultKind.MAC_MISSING)


def test_what_is_added_to_an_old_chain_without_the_key_is_found(
    old_chain: uuid.UUID,
) -> None:
    forge_entry(old_chain, entry_like(old_chain, 1))
    assert place(old_chain) == (7, FaultKind.MAC_MISSING)
    set_head(old_chain, mac_from=8)
    assert place(old_chain) == (7, FaultKind.MAC_FORGED)
    append(old_chain, draft())
    assert place(old_chain) == (8, FaultKind.MAC_MISSING)


def test_an_old_chain_with_a_broken_head_gets_no_code(team: uuid.UUID) -> None:
    append(team, draft())
    execute("UPDATE audit_chainhead SET mac = %s, hash = %s", b"", "none")
    migrate()
    assert place(team) == (1, FaultKind.HEAD_CHANGED)


def test_a_process_of_an_older_version_cannot_append() -> None:
    team_id = chain_of(1)
    columns = "action, subject_type, subject_id, recorded_at, canonical, hash"
    with pytest.raises(IntegrityError):
        execute(
            f"INSERT INTO audit_entry (team_id, seq, {columns}) SELECT team_id, 2, "
            f"{columns} FROM audit_entry WHERE team_id = %s",
            team_id,
        )


# --- keys ----------------------------------------------------------------------------


def test_a_former_key_goes_on_verifying_codes(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    team_id = chain_of(2)
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    append(team_id, draft())
    assert verify_team(team_id).macs == 3
    assert mac_at(team_id, 2)[:8] != mac_at(team_id, 3)[:8]
    assert "1 checkpoints made" in checkpoint()


def test_codes_of_a_key_that_is_gone_are_named(settings: Any) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    team_id = uuid.uuid4()
    append(team_id, draft())
    settings.ENCRYPTION_KEYS = [NEW]
    assert place(team_id) == (1, FaultKind.MAC_KEY_UNKNOWN)


def test_public_keys_alone_check_no_codes_and_that_is_said(
    settings: Any, tmp_path: Path
) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    team_id, keys = uuid.uuid4(), tmp_path / "keys.pem"
    append(team_id, draft())
    with keys.open("w") as file:
        call_command("audit_public_key", stdout=file)
    settings.ENCRYPTION_KEYS = [NEW]
    out, err = verify("--public-key", keys)
    assert "codes are not checked" in out and "0 codes" in out
    assert err == ""


def test_codes_are_made_as_the_documentation_says(settings: Any) -> None:
    """Golden vectors, derived with nothing but the standard library."""
    settings.ENCRYPTION_KEYS = [OLD]
    secret = hkdf(b"\x01" * 32, b"conductor.audit.mac.hmac-sha256.v1")
    key = macs.mac_key()
    assert key.id == hashlib.sha256(secret).digest()[:8]
    team_id, end = uuid.UUID(int=7), Position(5, bytes(range(32)))
    expected = hmac.digest(secret, b"\x02" + end.hash, "sha256")
    assert key.entry_mac(end.hash) == key.id + expected
    assert key.entry_mac(end.hash).hex() == GOLDEN_ENTRY
    place_ = team_id.bytes + (5).to_bytes(8, "big") + end.hash + (3).to_bytes(8, "big")
    expected = hmac.digest(secret, b"\x03" + place_, "sha256")
    assert macs.head_mac(key, team_id, end, 3) == key.id + expected
    assert macs.head_mac(key, team_id, end, 3).hex() == GOLDEN_HEAD


def hkdf(key: bytes, info: bytes) -> bytes:
    """RFC 5869 with SHA-256, without a salt, for one block."""
    pseudorandom = hmac.digest(bytes(32), key, "sha256")
    return hmac.digest(pseudorandom, info + b"\x01", "sha256")


GOLDEN_ENTRY = (
    "5790f4fa53c67794abc1f279fb7e9e62e15129f69a44da9b6c90b6b7816b82294799031469fd5e64"
)
GOLDEN_HEAD = (
    "5790f4fa53c677940f61eebfbb1f1f21bee0d96960b0575855be7c4259447d917856077c93df8202"
)
