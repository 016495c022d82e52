"""T12, G11: what is written to the ledger without the site's key is found.

Whoever tampers here writes to the database as they like, keeps copies of rows, and has
no key. Hashes that follow and heads that fit are theirs for the making.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as property_settings
from hypothesis import strategies as st

from apps.audit import chain, macs
from apps.audit.chain import FaultKind
from apps.audit.models import Entry
from tests.audit.examples import (
    append,
    chain_of,
    draft,
    execute,
    place,
)
from tests.audit.tampering import (
    cut_tail,
    entry_like,
    erase,
    forge_entry,
    forge_erasure,
    head_of,
    mac_at,
    rewrite_without_the_key,
    set_head,
    set_mac,
)
from tests.tiers import trials

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH = 12
Found = tuple[int, FaultKind]
Tamper = Callable[[uuid.UUID], Found]
FOREIGN = macs.MacKey(bytes(32))


def some_seq() -> int:
    return random.randint(1, LENGTH)


# --- what is found -------------------------------------------------------------------


def forged_entry(team_id: uuid.UUID) -> Found:
    forge_entry(team_id, entry_like(team_id, some_seq()))
    return LENGTH + 1, FaultKind.MAC_MISSING


def forged_entry_between_entries_of_the_site(team_id: uuid.UUID) -> Found:
    forge_entry(team_id, entry_like(team_id, some_seq()))
    append(team_id, draft(), draft())
    return LENGTH + 1, FaultKind.MAC_MISSING


def forged_entry_with_codes_to_begin_later(team_id: uuid.UUID) -> Found:
    forge_entry(team_id, entry_like(team_id, some_seq()))
    set_head(team_id, mac_from=LENGTH + random.randint(2, 99))
    append(team_id, draft(), draft())
    return LENGTH + 3, FaultKind.MAC_MISSING


def forged_entry_with_a_foreign_key(team_id: uuid.UUID) -> Found:
    seq = forge_entry(team_id, entry_like(team_id, some_seq()))
    entry = Entry.objects.for_team(team_id).get(seq=seq)
    set_mac(team_id, seq, FOREIGN.entry_mac(chain.untagged(entry.hash)))
    return seq, FaultKind.MAC_KEY_UNKNOWN


def forged_entry_with_a_foreign_key_of_our_name(team_id: uuid.UUID) -> Found:
    seq = forge_entry(team_id, entry_like(team_id, some_seq()))
    own_id = mac_at(team_id, 1)[: macs.KEY_ID_BYTES]
    entry = Entry.objects.for_team(team_id).get(seq=seq)
    code = FOREIGN.entry_mac(chain.untagged(entry.hash))
    set_mac(team_id, seq, own_id + code[macs.KEY_ID_BYTES :])
    return seq, FaultKind.MAC_FORGED


def forged_entry_with_the_code_of_another(team_id: uuid.UUID) -> Found:
    mac = mac_at(team_id, some_seq())
    seq = forge_entry(team_id, entry_like(team_id, some_seq()), mac)
    return seq, FaultKind.MAC_FORGED


def forged_erasure(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    forge_erasure(team_id, seq)
    return seq, FaultKind.CONTENT_MISSING


def forged_erasure_between_entries_of_the_site(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    forge_erasure(team_id, seq)
    append(team_id, draft())
    return seq, FaultKind.CONTENT_MISSING


def erasure_with_another_text(team_id: uuid.UUID) -> Found:
    """The words of a real erasure are made to cover one text more."""
    seq = random.randint(1, LENGTH - 1)
    erase(team_id, LENGTH)
    set_head(team_id, seq=LENGTH, hash=hash_at(team_id, LENGTH))
    execute("DELETE FROM audit_entry WHERE team_id = %s AND seq > %s", team_id, LENGTH)
    forge_erasure(team_id, seq)
    return seq, FaultKind.CONTENT_MISSING


def removed_code(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    set_mac(team_id, seq, b"")
    return seq, FaultKind.MAC_MISSING


def removed_codes_up_to_an_entry(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    execute(
        "UPDATE audit_entry SET mac = %s WHERE team_id = %s AND seq <= %s",
        b"",
        team_id,
        seq,
    )
    return 1, FaultKind.MAC_MISSING


def changed_code(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    mac = bytearray(mac_at(team_id, seq))
    mac[random.randrange(macs.KEY_ID_BYTES, len(mac))] ^= 1 << random.randrange(8)
    set_mac(team_id, seq, bytes(mac))
    return seq, FaultKind.MAC_FORGED


def shortened_code(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    cut = random.randrange(macs.KEY_ID_BYTES, 39)
    set_mac(team_id, seq, mac_at(team_id, seq)[:cut])
    return seq, FaultKind.MAC_FORGED


def code_of_another_chain(team_id: uuid.UUID) -> Found:
    other, seq = chain_of(LENGTH), some_seq()
    set_mac(team_id, seq, mac_at(other, seq))
    return seq, FaultKind.MAC_FORGED


def code_of_another_time(team_id: uuid.UUID) -> Found:
    """What the site wrote in a place before that was cut off."""
    seq = random.randint(2, LENGTH)
    before = mac_at(team_id, seq)
    head = head_before(team_id, seq)
    append(team_id, *(draft(f"run.other_{n}") for n in range(LENGTH - seq + 1)))
    assert place(team_id) is None and head
    set_mac(team_id, seq, before)
    return seq, FaultKind.MAC_FORGED


def rewritten_chain(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    rewrite_without_the_key(team_id, seq)
    return seq, FaultKind.MAC_FORGED


def rewritten_without_codes(team_id: uuid.UUID) -> Found:
    seq = some_seq()
    rewrite_without_the_key(team_id, seq)
    execute("UPDATE audit_entry SET mac = %s WHERE team_id = %s", b"", team_id)
    set_head(team_id, mac_from=LENGTH + 1, mac=b"")
    append(team_id, draft())
    return LENGTH + 1, FaultKind.MAC_MISSING


def tail_cut_and_grown_again(team_id: uuid.UUID) -> Found:
    seq = random.randint(2, LENGTH)
    like = [entry_like(team_id, n) for n in range(seq, LENGTH + 1)]
    head_before(team_id, seq)
    for canonical in like:
        forge_entry(team_id, canonical)
    return seq, FaultKind.MAC_MISSING


def head_without_a_code(team_id: uuid.UUID) -> Found:
    set_head(team_id, mac=b"")
    return LENGTH, FaultKind.MAC_MISSING


def head_with_the_code_of_another_time(team_id: uuid.UUID) -> Found:
    before = bytes(head_of(team_id).mac)
    append(team_id, draft())
    set_head(team_id, mac=before)
    return LENGTH + 1, FaultKind.MAC_FORGED


def head_with_the_code_of_another_chain(team_id: uuid.UUID) -> Found:
    set_head(team_id, mac=bytes(head_of(chain_of(LENGTH)).mac))
    return LENGTH, FaultKind.MAC_FORGED


def codes_said_to_begin_elsewhere(team_id: uuid.UUID) -> Found:
    set_head(team_id, mac_from=random.choice([-1, 0, 2, LENGTH + 1, 2**62]))
    return LENGTH, FaultKind.MAC_FORGED


def hash_at(team_id: uuid.UUID, seq: int) -> str:
    return str(Entry.objects.for_team(team_id).get(seq=seq).hash)


def head_before(team_id: uuid.UUID, seq: int) -> bytes:
    """Cut the tail from `seq` on, with the head that was there then."""
    cut_tail(team_id, seq)
    return bytes(head_of(team_id).mac)


TAMPERINGS = [
    forged_entry,
    forged_entry_between_entries_of_the_site,
    forged_entry_with_codes_to_begin_later,
    forged_entry_with_a_foreign_key,
    forged_entry_with_a_foreign_key_of_our_name,
    forged_entry_with_the_code_of_another,
    forged_erasure,
    forged_erasure_between_entries_of_the_site,
    erasure_with_another_text,
    removed_code,
    removed_codes_up_to_an_entry,
    changed_code,
    shortened_code,
    code_of_another_chain,
    code_of_another_time,
    rewritten_chain,
    rewritten_without_codes,
    tail_cut_and_grown_again,
    head_without_a_code,
    head_with_the_code_of_another_time,
    head_with_the_code_of_another_chain,
    codes_said_to_begin_elsewhere,
]


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_g11_what_is_written_without_the_key_is_found(tamper: Tamper) -> None:
    for _ in range(trials(5, exhaustive=100)):
        team_id = chain_of(LENGTH)
        assert place(team_id) is None
        assert tamper(team_id) == place(team_id)


@property_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    steps=st.lists(
        st.sampled_from(["append", "erase", "forge", "forge erasure"]),
        min_size=1,
        max_size=8,
    )
)
def test_g11_of_any_history_exactly_what_was_forged_is_named(steps: list[str]) -> None:
    team_id = chain_of(2)
    with_texts, first = [1, 2], None
    for step in steps:
        if step == "append":
            with_texts += append(team_id, draft(bodies={"text": "a"}))
        elif step == "forge":
            seq = forge_entry(team_id, entry_like(team_id, 1))
            first = min(first or seq, seq)
        elif with_texts:
            seq = with_texts.pop(random.randrange(len(with_texts)))
            if step == "erase":
                erase(team_id, seq)
            else:
                forge_erasure(team_id, seq)
                first = min(first or seq, seq)
    found = place(team_id)
    assert (found and found[0]) == first
