"""What is known after a run of the harness: told by clients, database and provider."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

ENDS = frozenset({"run.completed", "run.failed", "run.cancelled"})


@dataclass(frozen=True, slots=True)
class Accepted:
    """A run that a client was told of with a 2xx answer."""

    run_id: uuid.UUID
    is_answered: bool = False
    """The client holds the answer: the run must be on record as completed."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of `runs_run`."""

    id: uuid.UUID
    state: str
    job: str = ""
    """Which of the client's jobs it is for."""
    error_code: str = ""
    deaths: int = 0
    cost_micros: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry of the ledger about a run."""

    seq: int
    run_id: uuid.UUID
    action: str
    data: Mapping[str, object] = field(default_factory=dict)

    @property
    def step(self) -> tuple[uuid.UUID, object, object]:
        """Return the step that it is about."""
        return self.run_id, self.data.get("round"), self.data.get("step")


@dataclass(frozen=True, slots=True)
class Written:
    """Who committed an entry, and whose the run was then, as the database saw it."""

    seq: int
    writer: str
    """The process whose connection it was."""
    owner: str
    """The process that held the run. Empty: nobody."""


@dataclass(frozen=True, slots=True)
class History:
    """All of it, read once everything has ended or patience is over."""

    accepted: tuple[Accepted, ...] = ()
    keyed_jobs: frozenset[str] = frozenset()
    """Those whose requests had an `Idempotency-Key`."""
    runs: tuple[RunRow, ...] = ()
    entries: tuple[Recorded, ...] = ()
    """In the order of the chain."""
    written: tuple[Written, ...] = ()
    provider_calls: int = 0
    """As the provider counted them."""
    reservations: int = 0
    """Rows that are left."""
    reserved_micros: int = 0
    spent_micros: int = 0
    """Of the team's budget, which every run counts for."""
    ledger: str = ""
    """What `audit_verify` has against it; empty: it holds."""

    @property
    def lines(self) -> list[str]:
        """Return what is known of each run, for people."""
        owners = {written.seq: written for written in self.written}
        return [
            *(str(told) for told in self.accepted),
            *(str(row) for row in self.runs),
            *(f"{entry} {owners.get(entry.seq, '')}" for entry in self.entries),
        ]
