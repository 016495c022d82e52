"""Entries are stored compressed, and read as they were hashed."""

from __future__ import annotations

import hashlib
import random
import uuid

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from apps.audit import append as append_module
from apps.audit.models import Entry
from apps.audit.selectors import entry_list
from apps.audit.storage.compression import DICTIONARY, compressed, decompressed
from apps.audit.verify import verify_team
from apps.core.errors import InvalidInput
from tests.audit.examples import RUN, append, chain_of, draft, execute, place

DICTIONARY_SHA256 = "040e86221ee9a492e34cacf044b247548782e13345edfbca6fbec7bf73ff88a0"
STORED = "SELECT canonical FROM audit_entry WHERE team_id = %s ORDER BY seq"


def stored(team_id: uuid.UUID) -> list[bytes]:
    return [bytes(frame) for (frame,) in execute(STORED, team_id)]


def replace(team_id: uuid.UUID, seq: int, frame: bytes) -> None:
    execute(
        "UPDATE audit_entry SET canonical = %s WHERE team_id = %s AND seq = %s",
        frame,
        team_id,
        seq,
    )


def test_the_dictionary_is_the_one_that_entries_were_stored_with() -> None:
    digest = hashlib.sha256(DICTIONARY.read_bytes()).hexdigest()
    assert digest == DICTIONARY_SHA256, "without it no entry can be read: add another"


@given(st.lists(st.binary(min_size=1, max_size=2_000), min_size=1, max_size=20))
def test_what_is_read_is_what_was_stored(entries: list[bytes]) -> None:
    assert [decompressed(frame) for frame in compressed(entries)] == entries


@given(st.binary(max_size=200))
def test_bytes_that_are_no_frame_come_back_as_they_are(data: bytes) -> None:
    assert decompressed(b"{" + data) == b"{" + data
    assert decompressed(zstandard.FRAME_HEADER + data).endswith(data)


def test_a_frame_that_claims_to_be_huge_is_not_read() -> None:
    header = b"\xe0" + (1 << 40).to_bytes(8, "little")
    frame = zstandard.FRAME_HEADER + header + b"\x01\x00\x00"
    assert zstandard.frame_content_size(frame) == 1 << 40
    assert decompressed(frame) == frame


def test_what_follows_a_frame_is_no_part_of_an_entry() -> None:
    (frame,) = compressed([b"{}"])
    assert decompressed(frame + b"more") == frame + b"more"


@pytest.mark.django_db
def test_entries_take_a_third_of_their_bytes_or_less() -> None:
    team_id = uuid.uuid4()
    data = {"attempt": 1, "round": 0, "step": 0, "worker": "sim-atlas"}
    append(
        team_id,
        *(
            draft("step.started", data=data, bodies={"messages": f"{number}"})
            for number in range(20)
        ),
    )
    whole = sum(len(row.canonical) for row in Entry.objects.for_team(team_id))
    assert sum(map(len, stored(team_id))) < whole / 3


@pytest.mark.django_db
def test_entries_of_a_version_without_compression_are_read_and_verified() -> None:
    team_id = chain_of(4)
    before = entry_list(team_id, subject_id=RUN)
    for row in Entry.objects.for_team(team_id).filter(seq__in=[1, 3]):
        replace(team_id, row.seq, bytes(row.canonical))
    assert [frame[:1] == b"{" for frame in stored(team_id)] == [True, False] * 2
    assert verify_team(team_id).is_intact
    assert entry_list(team_id, subject_id=RUN) == before


@pytest.mark.django_db
def test_a_changed_frame_is_found_unless_it_says_the_same() -> None:
    team_id = chain_of(2)
    (frame, _), count = stored(team_id), 0
    for _ in range(60):
        changed = bytearray(frame)
        changed[random.randrange(len(frame))] ^= 1 << random.randrange(8)
        replace(team_id, 1, bytes(changed))
        is_same = decompressed(bytes(changed)) == decompressed(frame)
        assert verify_team(team_id).is_intact is is_same
        count += not is_same
    assert count > 30
    replace(team_id, 1, frame[: len(frame) // 2])
    assert not verify_team(team_id).is_intact


@pytest.mark.django_db(transaction=True)
def test_an_entry_too_large_to_be_read_again_is_refused(
    team: uuid.UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_module, "MAX_ENTRY_BYTES", 1_000)
    append(team, draft())
    with pytest.raises(InvalidInput, match="1000 bytes at most"):
        append(team, draft(data={"long": "x" * 1_000}))
    assert place(team) is None
