from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from apps.audit.writer import LedgerWriter
from tests.audit.examples import execute


@pytest.fixture
def team() -> uuid.UUID:
    return uuid.uuid4()


@pytest.fixture
def writer(transactional_db: None) -> Iterator[LedgerWriter]:
    ledger_writer = LedgerWriter(retry_delays_s=(0.0, 0.0))
    yield ledger_writer
    ledger_writer.close()


@pytest.fixture
def probe(transactional_db: None) -> Iterator[None]:
    """A projection; `parent` is checked only at the commit."""
    execute(
        "CREATE TABLE audit_probe (name varchar(80) PRIMARY KEY, count integer, "
        "parent varchar(80) REFERENCES audit_probe (name) "
        "DEFERRABLE INITIALLY DEFERRED)"
    )
    yield
    execute("DROP TABLE audit_probe")
