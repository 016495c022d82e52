"""Triggers by which the database itself keeps who wrote what, and whose it was.

The product's own checks are not asked: each process connects under a name of its own,
and at each commit of a run's entry the database notes that name beside the owner that
the run has in this very transaction.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from apps.audit.storage.compression import decompressed
from tests.faults.history import Accepted, History, Recorded, RunRow, Written

INSTALL = """
CREATE TABLE fault_lease (lease_id uuid PRIMARY KEY, process text);
CREATE TABLE fault_written (seq bigint, run_id uuid, writer text, owner text);
CREATE TABLE fault_hand (run_id uuid, process text, at timestamptz);
CREATE TABLE fault_claim (job_id uuid, process text, at timestamptz);

CREATE FUNCTION fault_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fault_lease VALUES (NEW.id, current_setting('application_name'));
    RETURN NULL;
END $$;
CREATE TRIGGER fault_lease AFTER INSERT ON runs_process
    FOR EACH ROW EXECUTE FUNCTION fault_lease();

CREATE FUNCTION fault_written() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fault_written
    SELECT NEW.seq, NEW.subject_id, current_setting('application_name'), l.process
    FROM runs_run r LEFT JOIN fault_lease l ON l.lease_id = r.owner_id
    WHERE r.id = NEW.subject_id;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fault_written AFTER INSERT ON audit_entry
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.subject_type = 'run') EXECUTE FUNCTION fault_written();

CREATE FUNCTION fault_hand() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fault_hand
    SELECT NEW.id, l.process, clock_timestamp() FROM (SELECT 1) one
    LEFT JOIN fault_lease l ON l.lease_id = NEW.owner_id;
    RETURN NULL;
END $$;
CREATE TRIGGER fault_hand AFTER UPDATE OF owner_id ON runs_run
    FOR EACH ROW WHEN (NEW.owner_id IS DISTINCT FROM OLD.owner_id)
    EXECUTE FUNCTION fault_hand();

CREATE FUNCTION fault_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO fault_claim
    VALUES (NEW.id, current_setting('application_name'), clock_timestamp());
    RETURN NULL;
END $$;
CREATE TRIGGER fault_claim AFTER UPDATE OF claim_id ON evaluation_evaluation
    FOR EACH ROW WHEN (NEW.claim_id IS DISTINCT FROM OLD.claim_id)
    EXECUTE FUNCTION fault_claim();
CREATE TRIGGER fault_claim AFTER UPDATE OF claim_id ON evaluation_shadowtest
    FOR EACH ROW WHEN (NEW.claim_id IS DISTINCT FROM OLD.claim_id)
    EXECUTE FUNCTION fault_claim();
"""
RUNS = "SELECT id, state, title, error_code, deaths, cost_micros FROM runs_run"
ENTRIES = (
    "SELECT seq, subject_id, action, canonical FROM audit_entry "
    "WHERE subject_type = 'run' ORDER BY seq"
)
OWNED = (
    "SELECT r.id FROM runs_run r JOIN fault_lease l ON l.lease_id = r.owner_id "
    "WHERE r.finished_at IS NULL AND l.process = %s"
)
TAKEN = (
    "SELECT process, at FROM fault_hand "
    "WHERE run_id = %s AND at > %s AND process IS NOT NULL ORDER BY at LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class Hand:
    """A change of the process that has a run, or drives an evaluation."""

    process: str
    at: datetime


class Witness:
    """Reads the harness's database past all proxies. Blocks."""

    def __init__(self, url: str) -> None:
        self.url = url

    def install(self) -> None:
        """Add the triggers to a database that has been migrated."""
        self._do(INSTALL)

    def unfinished(self) -> int:
        """Return how many runs have no end."""
        count = "SELECT count(*) FROM runs_run WHERE finished_at IS NULL"
        return int(self._read(count)[0][0])

    def has_lease(self, process: str) -> bool:
        """Say whether a process is known to have held a lease."""
        held = "SELECT count(*) FROM fault_lease WHERE process = %s"
        try:
            return bool(self._read(held, process)[0][0])
        except psycopg.OperationalError:
            return False  # the database is one of those that fail here

    def owned(self, process: str) -> list[uuid.UUID]:
        """Return the unfinished runs that a process holds."""
        return [row[0] for row in self._read(OWNED, process)]

    def owner(self, run_id: uuid.UUID) -> str:
        """Return the process that holds a run, or held it when it ended."""
        owner = (
            "SELECT l.process FROM runs_run r "
            "JOIN fault_lease l ON l.lease_id = r.owner_id WHERE r.id = %s"
        )
        rows = self._read(owner, run_id)
        return str(rows[0][0]) if rows else ""

    def steps_done(self, run_ids: list[uuid.UUID]) -> list[int]:
        """Return how many steps of each run have ended."""
        done = "SELECT steps_done FROM runs_run WHERE id = ANY(%s)"
        return [row[0] for row in self._read(done, run_ids)]

    def written_by(self, process: str, run_ids: list[uuid.UUID]) -> int:
        """Return how many entries of these runs a process has committed."""
        count = (
            "SELECT count(*) FROM fault_written WHERE writer = %s AND run_id = ANY(%s)"
        )
        return int(self._read(count, process, run_ids)[0][0])

    def run_ids(self) -> set[uuid.UUID]:
        """Return all runs that are on record."""
        return {row[0] for row in self._read("SELECT id FROM runs_run")}

    def taken(self, run_id: uuid.UUID, since: datetime) -> Hand | None:
        """Return who took a run first after a moment."""
        rows = self._read(TAKEN, run_id, since)
        return Hand(*rows[0]) if rows else None

    def drivers(self, job_id: uuid.UUID) -> list[Hand]:
        """Return the processes that took an evaluation or a shadow test, in order."""
        claims = "SELECT process, at FROM fault_claim WHERE job_id = %s ORDER BY at"
        return [Hand(*row) for row in self._read(claims, job_id)]

    def profiles(self, evaluation_id: uuid.UUID) -> list[tuple[Any, ...]]:
        """Return what a calibration measured: worker, family, sums; without times."""
        return self._read(
            'SELECT w.name, p.family, p.tasks, p."right", p.tokens, p.cost_micros '
            "FROM pools_workerprofile p JOIN pools_worker w ON w.id = p.worker_id "
            "WHERE p.evaluation_id = %s ORDER BY w.name, p.family",
            evaluation_id,
        )

    def now(self) -> datetime:
        """Return the database's time."""
        now: datetime = self._read("SELECT clock_timestamp()")[0][0]
        return now

    def row(self, run_id: uuid.UUID) -> RunRow:
        """Return the row of one run."""
        return _row(*self._read(f"{RUNS} WHERE id = %s", run_id)[0])

    def history(
        self,
        accepted: tuple[Accepted, ...],
        keyed_jobs: frozenset[str],
        provider_calls: int,
        ledger: str,
    ) -> History:
        """Return all that is known."""
        money = "SELECT coalesce(sum({}), 0) FROM budgets_spend"
        return History(
            accepted=accepted,
            keyed_jobs=keyed_jobs,
            runs=tuple(_row(*row) for row in self._read(RUNS)),
            entries=tuple(_entry(*row) for row in self._read(ENTRIES)),
            written=tuple(
                Written(seq, writer, owner or "")
                for seq, writer, owner in self._read(
                    "SELECT seq, writer, owner FROM fault_written ORDER BY seq"
                )
            ),
            provider_calls=provider_calls,
            reservations=self._read("SELECT count(*) FROM budgets_reservation")[0][0],
            reserved_micros=int(self._read(money.format("reserved_micros"))[0][0]),
            spent_micros=int(self._read(money.format("spent_micros"))[0][0]),
            ledger=ledger,
        )

    def _do(self, statements: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statements)

    def _read(self, query: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(query, values).fetchall()


def _row(
    run_id: uuid.UUID, state: str, title: str, code: str, deaths: int, micros: int
) -> RunRow:
    return RunRow(run_id, state, title.split()[0], code, deaths, micros)


def _entry(seq: int, run_id: uuid.UUID, action: str, canonical: bytes) -> Recorded:
    return Recorded(seq, run_id, action, json.loads(decompressed(canonical))["data"])
