"""Every kind of tampering with the stored ledger, each found in its exact place."""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable

import pytest
from django.db import connection

from apps.audit import chain, checking, verify
from apps.audit.append import content_context
from apps.audit.chain import FaultKind
from apps.audit.models import Content, Entry
from apps.audit.verify import team_ids, verify_subject, verify_team
from apps.core.keyring import seal
from tests.audit.examples import (
    RUN,
    append,
    chain_of,
    digest_at,
    draft,
    execute,
    fault_of,
    place,
)
from tests.audit.tampering import authenticate

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH = 12
Found = tuple[int, FaultKind]
Tamper = Callable[[uuid.UUID, int], Found]


def set_column(team_id: uuid.UUID, seq: int, column: str, value: object) -> None:
    execute(
        f"UPDATE audit_entry SET {column} = %s WHERE team_id = %s AND seq = %s",
        value,
        team_id,
        seq,
    )


def other_than(seq: int) -> int:
    return random.choice([n for n in range(1, LENGTH + 1) if n != seq])


def changed_byte(team_id: uuid.UUID, seq: int) -> Found:
    canonical = bytearray(Entry.objects.for_team(team_id).get(seq=seq).canonical)
    canonical[random.randrange(len(canonical))] ^= 1 << random.randrange(8)
    set_column(team_id, seq, "canonical", bytes(canonical))
    return seq, FaultKind.HASH_MISMATCH


def changed_hash(team_id: uuid.UUID, seq: int) -> Found:
    set_column(team_id, seq, "hash", chain.tagged(os.urandom(32)))
    return seq, FaultKind.HASH_MISMATCH


def malformed_hash(team_id: uuid.UUID, seq: int) -> Found:
    set_column(team_id, seq, "hash", random.choice(["", "sha256:", "none"]))
    return seq, FaultKind.HASH_MISMATCH


def deleted_row(team_id: uuid.UUID, seq: int) -> Found:
    execute("DELETE FROM audit_entry WHERE team_id = %s AND seq = %s", team_id, seq)
    return seq, FaultKind.TAIL_MISSING if seq == LENGTH else FaultKind.SEQUENCE_GAP


def swapped_rows(team_id: uuid.UUID, seq: int) -> Found:
    other = other_than(seq)
    for old, new in ((seq, -1), (other, seq), (-1, other)):
        set_column(team_id, old, "seq", new)
    return min(seq, other), FaultKind.HASH_MISMATCH


def cut_tail(team_id: uuid.UUID, seq: int) -> Found:
    execute("DELETE FROM audit_entry WHERE team_id = %s AND seq >= %s", team_id, seq)
    return seq, FaultKind.TAIL_MISSING


def inserted_row(team_id: uuid.UUID, seq: int) -> Found:
    columns = "action, subject_type, subject_id, recorded_at, canonical, hash, mac"
    execute(
        f"INSERT INTO audit_entry (team_id, seq, {columns}) SELECT team_id, %s, "
        f"{columns} FROM audit_entry WHERE team_id = %s AND seq = %s",
        LENGTH + 1,
        team_id,
        seq,
    )
    return LENGTH + 1, FaultKind.HASH_MISMATCH


def well_linked_row_behind_the_head(team_id: uuid.UUID, seq: int) -> Found:
    inserted_row(team_id, seq)
    last = Entry.objects.for_team(team_id).get(seq=LENGTH)
    copy = Entry.objects.for_team(team_id).get(seq=LENGTH + 1)
    forged = chain.entry_hash(
        team_id, LENGTH + 1, chain.untagged(last.hash), bytes(copy.canonical)
    )
    set_column(team_id, LENGTH + 1, "hash", chain.tagged(forged))
    authenticate(team_id)
    return LENGTH + 1, FaultKind.HEAD_BEHIND


def renumbered(team_id: uuid.UUID, seq: int) -> Found:
    set_column(team_id, seq, "seq", LENGTH + random.randint(2, 99))
    return seq, FaultKind.SEQUENCE_GAP


def changed_column(team_id: uuid.UUID, seq: int) -> Found:
    column, value = random.choice(
        [
            ("action", "run.deleted"),
            ("subject_type", "user"),
            ("subject_id", uuid.uuid4()),
            ("recorded_at", "2020-01-01 00:00:00.000001"),
        ]
    )
    set_column(team_id, seq, column, value)
    return seq, FaultKind.COLUMN_CHANGED


def changed_body(team_id: uuid.UUID, seq: int) -> Found:
    content = Content.objects.for_team(team_id).get(seq=seq)
    sealed = bytearray(content.sealed or b"")
    sealed[random.randrange(len(sealed))] ^= 1 << random.randrange(8)
    set_content(team_id, seq, "sealed", bytes(sealed))
    return seq, FaultKind.CONTENT_UNREADABLE


def truncated_body(team_id: uuid.UUID, seq: int) -> Found:
    content = Content.objects.for_team(team_id).get(seq=seq)
    cut = random.randrange(len(content.sealed or b""))
    set_content(team_id, seq, "sealed", bytes(content.sealed or b"")[:cut])
    return seq, FaultKind.CONTENT_UNREADABLE


def body_rewritten_with_the_key(team_id: uuid.UUID, seq: int) -> Found:
    context = content_context(team_id, digest_at(team_id, seq))
    set_content(team_id, seq, "sealed", seal(b"text X", context=context))
    return seq, FaultKind.CONTENT_CHANGED


def swapped_bodies(team_id: uuid.UUID, seq: int) -> Found:
    other = other_than(seq)
    for old, new in ((seq, -1), (other, seq), (-1, other)):
        set_content(team_id, old, "seq", new)
    return min(seq, other), FaultKind.CONTENT_UNREADABLE


def copied_body(team_id: uuid.UUID, seq: int) -> Found:
    other = Content.objects.for_team(team_id).get(seq=other_than(seq))
    for column in ("salt", "sealed", "size"):
        set_content(team_id, seq, column, getattr(other, column))
    return seq, FaultKind.CONTENT_UNREADABLE


def body_moved_away(team_id: uuid.UUID, seq: int) -> Found:
    set_content(team_id, seq, "seq", LENGTH + seq)
    return seq, FaultKind.CONTENT_MISSING


def renamed_body(team_id: uuid.UUID, seq: int) -> Found:
    set_content(team_id, seq, "name", "answer")
    return seq, FaultKind.CONTENT_MISSING


def replaced_salt(team_id: uuid.UUID, seq: int) -> Found:
    set_content(team_id, seq, "salt", os.urandom(16))
    return seq, FaultKind.CONTENT_CHANGED


def removed_salt(team_id: uuid.UUID, seq: int) -> Found:
    set_content(team_id, seq, "salt", None)
    return seq, FaultKind.CONTENT_CHANGED


def changed_size(team_id: uuid.UUID, seq: int) -> Found:
    set_content(team_id, seq, "size", 1)
    return seq, FaultKind.CONTENT_CHANGED


def deleted_body(team_id: uuid.UUID, seq: int) -> Found:
    execute("DELETE FROM audit_content WHERE team_id = %s AND seq = %s", team_id, seq)
    return seq, FaultKind.CONTENT_MISSING


def body_emptied_without_a_record(team_id: uuid.UUID, seq: int) -> Found:
    set_content(team_id, seq, "sealed", None)
    return seq, FaultKind.CONTENT_MISSING


def body_moved_to_other_team(team_id: uuid.UUID, seq: int) -> Found:
    set_content(team_id, seq, "team_id", uuid.uuid4())
    return seq, FaultKind.CONTENT_MISSING


def moved_to_other_team(team_id: uuid.UUID, seq: int) -> Found:
    set_column(team_id, seq, "team_id", uuid.uuid4())
    return seq, FaultKind.TAIL_MISSING if seq == LENGTH else FaultKind.SEQUENCE_GAP


def head_hash_changed(team_id: uuid.UUID, seq: int) -> Found:
    set_head(team_id, "hash", chain.tagged(os.urandom(32)))
    return LENGTH, FaultKind.HEAD_CHANGED


def head_moved_back(team_id: uuid.UUID, seq: int) -> Found:
    set_head(team_id, "seq", seq - 1)
    return seq, FaultKind.HEAD_BEHIND


def head_moved_on(team_id: uuid.UUID, seq: int) -> Found:
    set_head(team_id, "seq", LENGTH + seq)
    return LENGTH + 1, FaultKind.TAIL_MISSING


def head_deleted(team_id: uuid.UUID, seq: int) -> Found:
    execute("DELETE FROM audit_chainhead WHERE team_id = %s", team_id)
    return LENGTH, FaultKind.HEAD_MISSING


def chain_deleted(team_id: uuid.UUID, seq: int) -> Found:
    execute("DELETE FROM audit_entry WHERE team_id = %s", team_id)
    return 1, FaultKind.TAIL_MISSING


def set_content(team_id: uuid.UUID, seq: int, column: str, value: object) -> None:
    execute(
        f"UPDATE audit_content SET {column} = %s WHERE team_id = %s AND seq = %s",
        value,
        team_id,
        seq,
    )


def set_head(team_id: uuid.UUID, column: str, value: object) -> None:
    sql = f"UPDATE audit_chainhead SET {column} = %s WHERE team_id = %s"
    execute(sql, value, team_id)


TAMPERINGS = [
    changed_byte,
    changed_hash,
    malformed_hash,
    deleted_row,
    swapped_rows,
    cut_tail,
    inserted_row,
    well_linked_row_behind_the_head,
    renumbered,
    changed_column,
    changed_body,
    truncated_body,
    body_rewritten_with_the_key,
    swapped_bodies,
    copied_body,
    body_moved_away,
    renamed_body,
    replaced_salt,
    removed_salt,
    changed_size,
    deleted_body,
    body_emptied_without_a_record,
    body_moved_to_other_team,
    moved_to_other_team,
    head_hash_changed,
    head_moved_back,
    head_moved_on,
    head_deleted,
    chain_deleted,
]


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_tampering_is_found_in_its_exact_place(
    tamper: Tamper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "PAGE", 5)
    for seq in range(1, LENGTH + 1):
        team_id = chain_of(LENGTH)
        assert place(team_id) is None
        assert tamper(team_id, seq) == place(team_id)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="only SQLite holds anything")
@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("subject_id", FaultKind.COLUMN_CHANGED),
        ("recorded_at", FaultKind.COLUMN_CHANGED),
        ("canonical", FaultKind.HASH_MISMATCH),
        ("seq", FaultKind.SEQUENCE_GAP),
        ("team_id", FaultKind.SEQUENCE_GAP),
    ],
)
def test_nonsense_in_a_column_is_found(column: str, kind: FaultKind) -> None:
    team_id = chain_of(3)
    set_column(team_id, 2, column, "nonsense")
    assert place(team_id) == (2, kind)
    assert team_ids() == [team_id]


@pytest.mark.parametrize(
    "canonical", [b"", b"[]", b'{"v":1}', b'{ "v": 1}', b'{"v":1,"v":1}', b"\xff"]
)
def test_well_linked_bytes_that_are_no_entry_are_found(canonical: bytes) -> None:
    team_id = chain_of(1)
    forged = chain.tagged(chain.entry_hash(team_id, 1, chain.GENESIS, canonical))
    set_column(team_id, 1, "canonical", canonical)
    set_column(team_id, 1, "hash", forged)
    set_head(team_id, "hash", forged)
    authenticate(team_id)
    assert place(team_id) == (1, FaultKind.NOT_CANONICAL)


@pytest.mark.parametrize("digest", ["7", "[]", '"sha256:00"', "null"])
def test_well_linked_entry_with_an_odd_digest_is_found(digest: str) -> None:
    team_id = chain_of(1)
    canonical = bytes(Entry.objects.for_team(team_id).get().canonical)
    odd = canonical.replace(f'"{digest_at(team_id, 1)}"'.encode(), digest.encode())
    forged = chain.tagged(chain.entry_hash(team_id, 1, chain.GENESIS, odd))
    set_column(team_id, 1, "canonical", odd)
    set_column(team_id, 1, "hash", forged)
    set_head(team_id, "hash", forged)
    authenticate(team_id)
    assert place(team_id) == (1, FaultKind.NOT_CANONICAL)


def test_bodies_swapped_within_an_entry_are_found(team: uuid.UUID) -> None:
    append(team, draft(bodies={"a": "x", "b": "y"}))
    for old, new in (("a", "-"), ("b", "a"), ("-", "b")):
        execute("UPDATE audit_content SET name = %s WHERE name = %s", new, old)
    assert place(team) == (1, FaultKind.CONTENT_UNREADABLE)


def test_earliest_of_several_faults_is_named() -> None:
    team_id = chain_of(LENGTH)
    changed_hash(team_id, 9)
    deleted_body(team_id, 4)
    changed_column(team_id, 6)
    assert place(team_id) == (4, FaultKind.CONTENT_MISSING)


# --- more than one fault -------------------------------------------------------------


ALSO = {
    "swapped_rows": "both places",
    "renumbered": "the gap, and the entry behind the head",
    "swapped_bodies": "both entries",
    "inserted_row": "an entry that does not fit, and lies behind the head",
    "well_linked_row_behind_the_head": "the head is behind, and it has no body",
}
"""Tamperings with more than one place, or of more than one row."""


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_one_tampering_is_one_fault(
    tamper: Tamper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "PAGE", 5)
    for seq in range(1, LENGTH + 1):
        team_id = chain_of(LENGTH)
        found = tamper(team_id, seq)
        report = verify_team(team_id)
        faults = [(fault.seq, fault.kind) for fault in report.faults]
        assert faults[0] == found
        assert report.fault_count == len(faults) <= most(tamper), faults


def most(tamper: Tamper) -> int:
    """Return how many places a tampering may be told of at most."""
    if tamper is renumbered:
        return 4  # the gap it leaves, that before it, the head is behind, no body
    return 2 if tamper.__name__ in ALSO else 1


@pytest.mark.parametrize("page", [2, 5, 500])
def test_every_faulty_place_is_named(
    page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "PAGE", page)
    team_id = chain_of(LENGTH)
    tamperings = [
        (changed_column, 2),
        (deleted_body, 3),
        (changed_byte, 4),
        (changed_hash, 7),
        (deleted_row, 9),
        (replaced_salt, 11),
        (head_hash_changed, 12),
    ]
    found = [tamper(team_id, seq) for tamper, seq in tamperings]
    report = verify_team(team_id)
    assert sorted(found) == [(fault.seq, fault.kind) for fault in report.faults]
    assert report.fault_count == len(found)
    assert report.entries == LENGTH - 4  # 2, 4, 7 are not sound, 9 is gone
    assert report.end.seq == 3


def test_adjacent_entries_that_do_not_fit_are_one_break() -> None:
    team_id = chain_of(LENGTH)
    for seq in (5, 6, 7):
        set_column(team_id, seq, "hash", chain.tagged(os.urandom(32)))
    authenticate(team_id)
    report = verify_team(team_id)
    assert [fault.seq for fault in report.faults] == [5]


def test_faults_beyond_the_first_hundred_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checking, "MAX_FAULTS", 4)
    team_id = chain_of(LENGTH)
    for seq in range(LENGTH, 0, -1):
        changed_column(team_id, seq)
    report = verify_team(team_id)
    assert [fault.seq for fault in report.faults] == [1, 2, 3, 4]
    assert report.fault_count == LENGTH


def test_report_counts_what_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "PAGE", 4)
    team_id = chain_of(10)
    append(team_id, draft(bodies={"a": "x", "b": "y"}))
    report = verify_team(team_id)
    assert (report.entries, report.bodies, report.erased) == (11, 12, 0)
    last = Entry.objects.for_team(team_id).get(seq=11)
    assert report.end == (11, chain.untagged(last.hash))


def test_team_without_entries_holds() -> None:
    report = verify_team(uuid.uuid4())
    assert report.is_intact and report.entries == 0


def test_other_teams_do_not_matter() -> None:
    team_id, other = chain_of(3), chain_of(3)
    changed_hash(other, 2)
    assert verify_team(team_id).is_intact
    assert team_ids() == sorted([team_id, other])


# --- one subject ---------------------------------------------------------------------


@pytest.fixture
def mixed(monkeypatch: pytest.MonkeyPatch) -> uuid.UUID:
    """A chain of 9 entries; those about RUN are 2, 5 and 8."""
    monkeypatch.setattr(verify, "PAGE", 2)
    team_id = uuid.uuid4()
    for seq in range(1, 10):
        subject = RUN if seq % 3 == 2 else uuid.uuid4()
        append(team_id, draft(subject_id=subject, bodies={"text": str(seq)}))
    return team_id


def test_subject_is_verified(mixed: uuid.UUID) -> None:
    report = verify_subject(mixed, RUN)
    assert (report.fault, report.entries, report.bodies) == (None, 3, 3)


def test_subject_at_both_ends_is_verified() -> None:
    assert verify_subject(chain_of(7), RUN).entries == 7


@pytest.mark.parametrize(
    ("tamper", "seq", "found"),
    [
        (changed_byte, 5, (5, FaultKind.HASH_MISMATCH)),
        (changed_hash, 5, (5, FaultKind.HASH_MISMATCH)),
        (changed_hash, 4, (5, FaultKind.HASH_MISMATCH)),
        (changed_byte, 6, (6, FaultKind.HASH_MISMATCH)),
        (malformed_hash, 4, (4, FaultKind.HASH_MISMATCH)),
        (deleted_row, 4, (4, FaultKind.SEQUENCE_GAP)),
        (deleted_row, 6, (6, FaultKind.TAIL_MISSING)),
        (replaced_salt, 8, (8, FaultKind.CONTENT_CHANGED)),
        (deleted_body, 2, (2, FaultKind.CONTENT_MISSING)),
        (changed_body, 5, (5, FaultKind.CONTENT_UNREADABLE)),
    ],
)
def test_tampering_with_a_subject_is_found(
    mixed: uuid.UUID, tamper: Tamper, seq: int, found: Found
) -> None:
    tamper(mixed, seq)
    assert fault_of(verify_subject(mixed, RUN)) == found


def test_subject_at_the_end_is_compared_with_the_head() -> None:
    team_id = chain_of(3)
    set_head(team_id, "hash", chain.tagged(os.urandom(32)))
    assert fault_of(verify_subject(team_id, RUN)) == (3, FaultKind.HEAD_CHANGED)
