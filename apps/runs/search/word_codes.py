"""Codes of words: what the index holds in their place.

code:  the first 8 bytes of HMAC-SHA-256(key of the team, word in UTF-8), as a number
key:   HKDF-SHA-256(encryption key, no salt, PURPOSE ‖ team (16 bytes))

Words of two teams have nothing in common, not even equal ones. The first encryption key
makes codes; runs that were indexed under an older one are found by its code too.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from uuid import UUID

from django.conf import settings

from apps.core.hmacs import HmacSha256
from apps.core.keyring import derived_secrets

PURPOSE = b"conductor.runs.search.hmac-sha256.v1"
CODE_BYTES = 8
"""Two words of a team's million share a code once in 37 million million; then a run is
found that has the other word."""
_TEAMS = 256
"""Keys that are kept in memory."""


def word_codes(team_id: UUID, words: Iterable[str]) -> list[int]:
    """Return the codes under which the index keeps these words, in their order."""
    hmac = _keys(tuple(settings.ENCRYPTION_KEYS), team_id)[0]
    return [_code(hmac, word) for word in words]


def codes_sought(team_id: UUID, word: str) -> tuple[int, ...]:
    """Return the codes that a word may have in the index: one for each key."""
    keys = _keys(tuple(settings.ENCRYPTION_KEYS), team_id)
    return tuple(_code(hmac, word) for hmac in keys)


def _code(hmac: HmacSha256, word: str) -> int:
    return int.from_bytes(hmac.digest(word.encode())[:CODE_BYTES], "big")


@lru_cache(maxsize=_TEAMS)
def _keys(ring: tuple[str, ...], team_id: UUID) -> tuple[HmacSha256, ...]:
    """Return a team's keys, the first one first. `ring` tells rings apart."""
    return tuple(map(HmacSha256, derived_secrets(PURPOSE + team_id.bytes)))
