"""Repeatable chance: a draw depends on the seed and the words given alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")
SEPARATOR = "\x1f"


def draw(seed: int, *parts: str) -> float:
    """Return a number from 0 up to, but not including, 1."""
    text = SEPARATOR.join((str(seed), *parts))
    digest = hashlib.blake2b(text.encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def pick(items: Sequence[Item], seed: int, *parts: str) -> Item:
    """Return one of `items`, which must not be empty."""
    return items[int(draw(seed, *parts) * len(items))]
