"""HMAC-SHA-256 by two hashes that begin under the key is what the library makes."""

from __future__ import annotations

import hmac

from hypothesis import given
from hypothesis import strategies as st

from apps.core.hmacs import HmacSha256


@given(st.binary(max_size=200), st.lists(st.binary(), min_size=1, max_size=3))
def test_codes_are_those_of_the_library(key: bytes, messages: list[bytes]) -> None:
    made = HmacSha256(key)
    for message in messages:
        assert made.digest(message) == hmac.digest(key, message, "sha256")
