"""Batches come out of the channel as they went in, however the stream is cut."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pytest
from django.db import DatabaseError
from django.utils.safestring import SafeString
from hypothesis import given
from hypothesis import strategies as st

from apps.audit.errors import LedgerUnavailable, NotCanonical, StaleWrite
from apps.audit.types import Actor, Batch, EntryDraft, RowWrite
from apps.audit.writer_ipc import (
    LENGTH,
    Answer,
    Messages,
    pack_answers,
    pack_batch,
    pack_message,
    unpack_answers,
    unpack_batch,
)
from tests.audit.examples import RUN, batch, draft

TEXTS = st.text(max_size=20)
LEAVES = st.none() | st.booleans() | st.integers() | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    ),
    max_leaves=8,
)
BODIES = st.dictionaries(TEXTS, TEXTS, max_size=3)
ACTORS = st.builds(Actor, TEXTS, TEXTS, TEXTS, TEXTS, BODIES)
DRAFTS = st.builds(
    EntryDraft,
    TEXTS,
    TEXTS,
    st.uuids(),
    ACTORS,
    st.dictionaries(TEXTS, VALUES, max_size=3),
    BODIES,
    TEXTS,
)
TIMES = st.datetimes(timezones=st.just(UTC))
PARAMS = LEAVES | st.binary(max_size=20) | st.uuids() | TIMES
WRITES = st.builds(
    RowWrite, TEXTS, st.lists(PARAMS).map(tuple), st.integers(0, 3), st.booleans()
)
BATCHES = st.builds(
    Batch,
    st.uuids(),
    st.lists(DRAFTS, max_size=3).map(tuple),
    st.lists(WRITES, max_size=3).map(tuple),
)


def carried(sent: Batch, number: int = 1) -> tuple[int, Batch]:
    (message,) = Messages().feed(pack_batch(number, sent))
    return unpack_batch(message)


@given(number=st.integers(1, 2**40), sent=BATCHES)
def test_batch_arrives_as_it_was_sent(number: int, sent: Batch) -> None:
    arrived_number, arrived = carried(sent, number)
    assert (arrived_number, arrived) == (number, sent)
    # Actors are the same whatever they ask by, so contexts are compared by themselves.
    assert contexts(arrived) == contexts(sent)


def contexts(sent: Batch) -> list[dict[str, str]]:
    return [dict(draft.actor.context) for draft in sent.drafts]


def test_types_of_parameters_are_kept() -> None:
    params = (True, 1, "1", b"1", None, RUN, datetime(2030, 1, 31, tzinfo=UTC))
    _, arrived = carried(batch(RUN, writes=(RowWrite("", params),)))
    assert [type(p) for p in arrived.writes[0].params] == [type(p) for p in params]
    assert arrived.writes[0].params[-1].tzinfo is UTC


def test_time_of_another_zone_is_the_same_moment() -> None:
    moment = datetime(2030, 1, 31, tzinfo=timezone(timedelta(hours=2)))
    _, arrived = carried(batch(RUN, writes=(RowWrite("", (moment,)),)))
    assert arrived.writes[0].params == (moment,)


def test_enum_arrives_as_its_value() -> None:
    class Colour(Enum):
        RED = "red"

    _, arrived = carried(batch(RUN, writes=(RowWrite("", (Colour.RED,)),)))
    assert arrived.writes[0].params == ("red",)


class Fault(StrEnum):
    SLOW = "slow"


class Place(IntEnum):
    FIRST = 1


def test_words_and_numbers_of_enumerations_arrive_as_what_they_stand_for() -> None:
    data = {"fault": Fault.SLOW, "places": [Place.FIRST], "is_last": True, "n": None}
    write = RowWrite("", (SafeString("<b>"), Place.FIRST, RUN, b"1", 1.5))
    _, arrived = carried(batch(RUN, draft(data=data), writes=(write,)))
    kept = arrived.drafts[0].data
    assert kept == {"fault": "slow", "places": [1], "is_last": True, "n": None}
    assert [type(value) for value in kept.values()] == [str, list, bool, type(None)]
    assert arrived.writes[0].params == ("<b>", 1, RUN, b"1", 1.5)
    assert type(arrived.writes[0].params[0]) is str


def test_read_only_mappings_arrive() -> None:
    data: Mapping[str, Any] = MappingProxyType({"round": 1})
    _, arrived = carried(batch(RUN, draft(data=data)))
    assert arrived.drafts[0].data == {"round": 1}


@pytest.mark.parametrize("value", [object(), RUN, {"deep": {uuid.UUID(int=1)}}])
def test_what_is_no_plain_value_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical, match="cannot hold this"):
        pack_batch(1, batch(RUN, draft(data={"value": value})))


def test_endless_nesting_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(NotCanonical):
        pack_batch(1, batch(RUN, draft(data={"deep": deep})))


def test_answers_arrive_with_their_errors() -> None:
    class Local(Exception):
        """Of a function, so no pickle finds it."""

    sent: list[Answer] = [
        (1, [7, 8]),
        (2, StaleWrite("gone")),
        (3, LedgerUnavailable("away", retry_after_s=5)),
        (4, Local("odd")),
    ]
    (message,) = Messages().feed(pack_answers(sent))
    (_, seqs), (_, stale), (_, away), (_, odd) = unpack_answers(message)
    assert seqs == [7, 8]
    assert isinstance(stale, StaleWrite)
    assert isinstance(away, LedgerUnavailable)
    assert away.retry_after_s == 5
    assert isinstance(odd, DatabaseError)
    assert str(odd) == "odd"


@given(
    messages=st.lists(st.binary(max_size=50), max_size=8),
    cuts=st.lists(st.integers(0, 600), max_size=8),
)
def test_messages_survive_any_cutting(messages: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(pack_message, messages))
    places = sorted({0, len(stream), *(c for c in cuts if c < len(stream))})
    parts = Messages()
    pieces = [stream[a:b] for a, b in pairwise(places)]
    assert [m for piece in pieces for m in parts.feed(piece)] == messages


def test_length_goes_before_a_message() -> None:
    message = pack_message("hello")
    assert LENGTH.unpack_from(message)[0] == len(message) - LENGTH.size
