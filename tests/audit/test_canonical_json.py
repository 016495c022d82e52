from __future__ import annotations

import uuid
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from apps.audit.canonical_json import canonical_bytes
from apps.audit.errors import NotCanonical

LARGEST = 2**53 - 1
KEYS = st.text(st.characters(max_codepoint=127), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(KEYS, inner, max_size=5)
    ),
    max_leaves=25,
)


class Tier(StrEnum):
    MINI = "mini"


@given(VALUES)
def test_bytes_equal_those_of_rfc8785(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


@given(VALUES.filter(lambda value: not isinstance(value, str)), st.floats())
def test_float_is_refused_wherever_it_hides(value: Any, number: float) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes({"a": [value, {"b": [number]}]})


def test_tuples_and_text_enums_read_as_lists_and_text() -> None:
    assert canonical_bytes({"b": (1, Tier.MINI), "a": {}}) == b'{"a":{},"b":[1,"mini"]}'


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        float("nan"),
        LARGEST + 1,
        -LARGEST - 1,
        2**64,
        "\ud800",
        {"\ud800": 1},
        {"é": 1},
        {1: 1},
        {None: 1},
        b"bytes",
        {1, 2},
        uuid.UUID(int=1),
        datetime(2030, 1, 1, tzinfo=UTC),
        object(),
        CYCLE,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_rfc_would_write_otherwise_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes([{"a": value}])


@pytest.mark.parametrize("value", [LARGEST, -LARGEST, "\x00\x1f\x7f\u2028😀", True])
def test_edges_are_accepted(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)
