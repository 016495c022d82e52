"""What a production process would log."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.core.logs import JSON, Formatter
from apps.core.redaction import known_secrets

Lines = Callable[[], list[dict[str, Any]]]


class _Keeper(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(Formatter(JSON, hides=True))
        self.kept: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(self.format(record))


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Give every line from now on, of whatever level, as the objects they are."""
    keeper, root = _Keeper(), logging.getLogger()
    level = root.level
    known_secrets.cache_clear()
    root.addHandler(keeper)
    root.setLevel(logging.DEBUG)
    yield lambda: [json.loads(line) for line in keeper.kept]
    root.removeHandler(keeper)
    root.setLevel(level)
