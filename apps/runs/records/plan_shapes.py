"""Shapes of plans: their graphs without workers, told apart and in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from django.utils.translation import gettext_noop as _

from apps.core.plan_layout import depths

NO_PLAN = _("No plan")


class Shape(NamedTuple):
    """The graph of a plan."""

    key: str
    """The same for plans that differ only in the order of their steps."""
    words: str
    """Steps of each depth, for example `2 → 1`."""
    steps: int


Access = tuple[tuple[int, ...], ...]


def shape_of(access: Sequence[Sequence[int]]) -> Shape:
    """Return the shape of a plan by the access lists of its steps."""
    return _shape_of(tuple(map(tuple, access)))


@lru_cache(maxsize=1_000)
def _shape_of(access: Access) -> Shape:
    if not access:
        return Shape("", NO_PLAN, 0)
    by_depth = Counter(depths(access))
    words = " → ".join(str(by_depth[depth]) for depth in sorted(by_depth))
    return Shape(_key(access), words, len(access))


def _key(access: Access) -> str:
    """Digest the graph: each step by the steps it reads, then by those that read it.

    Two rounds over neighbours tell all graphs apart that plans of a few steps have, and
    the order in which a plan lists its steps does not count.
    """
    readers: list[list[int]] = [[] for _ in access]
    for index, reads in enumerate(access):
        for read in reads:
            readers[read].append(index)
    below: list[str] = []
    for reads in access:
        below.append(_digest("r", *sorted(below[index] for index in set(reads))))
    whole = list(below)
    for index in reversed(range(len(access))):
        whole[index] = _digest(below[index], *sorted(whole[i] for i in readers[index]))
    last = whole[-1]  # the step whose text is the answer
    return _digest(last, *sorted(whole))


def _digest(*parts: str) -> str:
    return blake2b("|".join(parts).encode(), digest_size=8).hexdigest()
