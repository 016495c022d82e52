from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.audit.chain import (
    GENESIS,
    START,
    ChainCheck,
    FaultKind,
    Link,
    Position,
    body_digest,
    entry_hash,
    tagged,
    untagged,
    verify_chain,
)

TEAM = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
FIRST = "sha256:ce95f9f32f5a6a78b041637d212636bfec297bfef5f2bf12a3f4be13fb16f8c7"
SECOND = "sha256:a1c78ef9199cb7cd25f38d5c5d137c9b34d78c54eaa41504a7bc99aede007481"
TEXTS = st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=12)


def links_of(texts: list[bytes], team_id: uuid.UUID = TEAM) -> list[Link]:
    links, previous = [], GENESIS
    for seq, text in enumerate(texts, 1):
        previous = entry_hash(team_id, seq, previous, text)
        links.append(Link(seq, text, tagged(previous)))
    return links


def found(check: ChainCheck) -> tuple[int, FaultKind] | None:
    return (check.fault.seq, check.fault.kind) if check.fault else None


def test_hash_of_the_first_entry_is_as_published() -> None:
    assert tagged(entry_hash(TEAM, 1, GENESIS, b'{"v":1}')) == FIRST


def test_hash_of_the_second_entry_is_as_published() -> None:
    canonical = '{"name":"Zoë"}'.encode()
    assert tagged(entry_hash(TEAM, 2, untagged(FIRST), canonical)) == SECOND


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("Grüße", "6bb789480230d60c76404b776f0ae99ae8a4bb729efcacddfc98f22dde6d3305"),
        ("", "6ffda3d26f21c44753696aff51a5b78906f8dbc6d21619b898ec877bf6dec16a"),
    ],
)
def test_body_digest_is_as_published(text: str, digest: str) -> None:
    assert tagged(body_digest(bytes(range(16)), text.encode())) == f"sha256:{digest}"


@pytest.mark.parametrize(
    "text", ["", "ab", "sha256:", "sha256:zz", FIRST.upper(), FIRST[7:], FIRST + "00"]
)
def test_malformed_digest_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"digest|hexadecimal"):
        untagged(text)


@given(TEXTS)
def test_untouched_chain_holds(texts: list[bytes]) -> None:
    links = links_of(texts)
    end = Position(len(links), untagged(links[-1].hash))
    assert verify_chain(TEAM, iter(links)) == ChainCheck(end)


@given(TEXTS, st.data())
def test_chain_can_be_checked_in_pieces(
    texts: list[bytes], data: st.DataObject
) -> None:
    links = links_of(texts)
    cut = data.draw(st.integers(0, len(links)))
    middle = verify_chain(TEAM, links[:cut]).end
    assert verify_chain(TEAM, links[cut:], start=middle) == verify_chain(TEAM, links)


@given(TEXTS, st.data())
def test_changed_bit_is_found_in_its_place(
    texts: list[bytes], data: st.DataObject
) -> None:
    links = links_of(texts)
    at = data.draw(st.integers(0, len(links) - 1))
    changed = bytearray(links[at].canonical)
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(
        st.integers(0, 7)
    )
    links[at] = links[at]._replace(canonical=bytes(changed))
    assert found(verify_chain(TEAM, links)) == (at + 1, FaultKind.HASH_MISMATCH)


@given(TEXTS, st.data())
def test_changed_hash_is_found_in_its_place(
    texts: list[bytes], data: st.DataObject
) -> None:
    links = links_of(texts)
    at = data.draw(st.integers(0, len(links) - 1))
    links[at] = links[at]._replace(hash=tagged(data.draw(st.binary(min_size=32))))
    assert found(verify_chain(TEAM, links)) == (at + 1, FaultKind.HASH_MISMATCH)


@given(TEXTS.filter(lambda texts: len(texts) > 1), st.data())
def test_missing_entry_is_found_in_its_place(
    texts: list[bytes], data: st.DataObject
) -> None:
    links = links_of(texts)
    at = data.draw(st.integers(0, len(links) - 2))
    del links[at]
    assert found(verify_chain(TEAM, links)) == (at + 1, FaultKind.SEQUENCE_GAP)


@given(TEXTS, st.data())
def test_repeated_entry_is_found_in_its_place(
    texts: list[bytes], data: st.DataObject
) -> None:
    links = links_of(texts)
    at = data.draw(st.integers(0, len(links) - 1))
    links.insert(at, links[at])
    assert found(verify_chain(TEAM, links)) == (at + 1, FaultKind.SEQUENCE_REPEATED)


def test_chain_of_another_team_does_not_hold() -> None:
    check = verify_chain(uuid.UUID(int=1), links_of([b"a", b"b"]))
    assert found(check) == (1, FaultKind.HASH_MISMATCH)
    assert check.end == START
