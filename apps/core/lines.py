"""Queues of waiters, one for each key, served round robin.

Guarantees: each queue keeps its order. A queue that was just served goes behind all
others: beside one busy queue a newcomer waits only for what is being served.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")


class Lines(Generic[ItemT]):
    """Memory is bounded by what waits."""

    def __init__(self) -> None:
        self._lines: OrderedDict[Hashable, deque[ItemT]] = OrderedDict()
        """None of them is empty. The first one is next."""
        self._last_key: Hashable = None
        """Who was served last."""
        self._last_line: deque[ItemT] = deque()
        """What else waits of it: behind all others."""

    def __bool__(self) -> bool:
        return bool(self._lines) or bool(self._last_line)

    def __contains__(self, key: Hashable) -> bool:
        is_last = key == self._last_key and bool(self._last_line)
        return is_last or key in self._lines

    def pass_by(self, key: Hashable) -> None:
        """Note that `key` is served without waiting. Nothing may wait."""
        self._last_key = key

    def add(self, key: Hashable, item: ItemT) -> None:
        """Put an item at the end of a line."""
        if key == self._last_key:
            self._last_line.append(item)
        else:
            self._lines.setdefault(key, deque()).append(item)

    def first(self) -> ItemT:
        """Return who is next. Raises: IndexError."""
        line = next(iter(self._lines.values())) if self._lines else self._last_line
        return line[0]

    def pop(self) -> ItemT:
        """Take out who is next. Raises: IndexError."""
        if self._lines:
            key, line = self._lines.popitem(last=False)
            if self._last_line:
                self._lines[self._last_key] = self._last_line
            self._last_key, self._last_line = key, line
        return self._last_line.popleft()
