"""What many features change a little: numbers of queries, pages of the navigation.

`tests/recorded.json` has what each test saw when `make recorded` was run last. A test
that sees something else fails; if that is meant, run the command and read the diff.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

FILE = Path(__file__).with_name("recorded.json")
USERS = {"recorded_value", "recorded_queries"}
"""Fixtures of this module that tests ask for."""
Recorded = Callable[[Any], None]
RecordedQueries = Callable[[], AbstractContextManager[None]]


class Record:
    """What is in the file, or what is to be written there."""

    def __init__(self, is_written: bool) -> None:
        self._is_written = is_written
        self._values: dict[str, Any] = {}
        if not is_written and FILE.exists():
            self._values = json.loads(FILE.read_text("utf-8"))

    def check(self, name: str, value: Any) -> None:
        """Compare a value with the recorded one, or note it."""
        if self._is_written:
            self._values[name] = value
        else:
            recorded = self._values.get(name)
            assert value == recorded, f"recorded is {recorded!r}; see tests/recorded.py"

    def write(self) -> None:
        """Write the file if that was asked for."""
        if self._is_written:
            text = json.dumps(self._values, indent=1, sort_keys=True)
            FILE.write_text(f"{text}\n", "utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--record`."""
    parser.addoption("--record", action="store_true", help="write tests/recorded.json")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """To write the file, run the tests that it is for."""
    if config.option.record:
        items[:] = [each for each in items if USERS & set(_fixtures(each))]


def _fixtures(item: pytest.Item) -> list[str]:
    names: list[str] = getattr(item, "fixturenames", [])
    return names


@pytest.fixture(scope="session")
def record(request: pytest.FixtureRequest) -> Iterator[Record]:
    record = Record(request.config.option.record)
    yield record
    record.write()


@pytest.fixture
def recorded_value(request: pytest.FixtureRequest, record: Record) -> Recorded:
    """Compare a value that JSON can hold with what this test saw before."""
    counts: Counter[str] = Counter()

    def inner(value: Any) -> None:
        name = request.node.nodeid.partition("@")[0]
        counts[name] += 1
        record.check(f"{name} #{counts[name]}", value)

    return inner


@pytest.fixture
def recorded_queries(recorded_value: Recorded) -> RecordedQueries:
    """Count the queries of a block; on SQLite compare them with those of before."""

    @contextmanager
    def inner() -> Iterator[None]:
        with CaptureQueriesContext(connection) as queries:
            yield
        if connection.vendor == "sqlite":
            recorded_value(len(queries))

    return inner
