"""How a team's chain is doing: its length, its last checkpoint, its verification."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from apps.audit.append import recorded_time
from apps.audit.jobs import job_state
from apps.audit.models import ChainHead, Checkpoint, Entry, FullCheck, JobState


@dataclass(frozen=True, slots=True)
class CheckStatus:
    """The full verification of a chain: the one in progress, and the last."""

    state: str
    """waiting, running, lost (its process died; another begins it again) or idle."""
    percent: int
    """Of the entries that the one in progress has come to."""
    finished_at: datetime | None
    """Of the last one. None: there was none."""
    took_ms: int
    requested_by: str
    """Who requested the last one. Empty: it was due."""
    entries: int
    bodies: int
    erased: int
    checkpoints: int
    fault_count: int
    faults: tuple[dict[str, Any], ...]
    """seq, kind and detail of the first."""
    error: str
    """Why the last one has no result. Empty: it has one."""

    @property
    def is_over(self) -> bool:
        """Say whether nothing is in progress."""
        return self.state == "idle"


@dataclass(frozen=True, slots=True)
class ChainStatus:
    """A chain, with what vouches for it."""

    entries: int
    newest_at: datetime | None
    checkpoint_seq: int | None
    """None: there is no checkpoint yet, like the next two."""
    checkpoint_at: datetime | None
    copied_at: datetime | None
    """When a copy was made outside of the database. None: none was yet."""
    check: CheckStatus

    @property
    def lag(self) -> int:
        """Return how many entries no checkpoint covers."""
        return max(self.entries - (self.checkpoint_seq or 0), 0)


def chain_status(team_id: UUID) -> ChainStatus:
    """Return how a team's chain is doing; counts nothing."""
    heads = ChainHead.objects.filter(team_id=team_id)
    last = heads.values_list("seq", flat=True).first() or 0
    newest = Entry.objects.for_team(team_id).filter(seq=last)
    checkpoint = Checkpoint.objects.for_team(team_id).order_by("-seq").first()
    return ChainStatus(
        entries=last,
        newest_at=newest.values_list("recorded_at", flat=True).first(),
        checkpoint_seq=checkpoint.seq if checkpoint else None,
        checkpoint_at=_moment(checkpoint),
        copied_at=checkpoint.copied_at if checkpoint else None,
        check=_check(FullCheck.objects.for_team(team_id).first()),
    )


def checkpoint_time(team_id: UUID) -> datetime | None:
    """Return when a team's last checkpoint was signed. None: there is none."""
    return _moment(Checkpoint.objects.for_team(team_id).order_by("-seq").first())


@dataclass(frozen=True, slots=True)
class Signature:
    """A signed statement that stands for an entry."""

    seq: int
    """Of the last entry that it stands for."""
    root: str
    """Of the Merkle tree up to there. Empty: only the chain was signed."""
    key_id: str
    signed_at: datetime | None


def covering_signature(team_id: UUID, seq: int) -> Signature | None:
    """Return the first checkpoint that stands for an entry. None: there is none yet."""
    rows = Checkpoint.objects.for_team(team_id).filter(seq__gte=seq)
    row = rows.order_by("seq").first()
    if row is None:
        return None
    return Signature(row.seq, row.root, row.key_id, _moment(row))


def _moment(checkpoint: Checkpoint | None) -> datetime | None:
    try:
        return recorded_time(checkpoint.recorded) if checkpoint else None
    except ValueError:
        return None  # tampered with: verification says so


def _check(row: FullCheck | None) -> CheckStatus:
    report = row.report if row else {}
    done = 100 * row.entries // row.total if row and row.total else 0
    return CheckStatus(
        state=_state(row),
        percent=min(done, 99),
        finished_at=row.finished_at if row else None,
        took_ms=report.get("took_ms", 0),
        requested_by=report.get("requested_by", ""),
        entries=report.get("entries", 0),
        bodies=report.get("bodies", 0),
        erased=report.get("erased", 0),
        checkpoints=report.get("checkpoints", 0),
        fault_count=report.get("fault_count", 0),
        faults=tuple(report.get("faults", ())),
        error=report.get("error", ""),
    )


def _state(row: FullCheck | None) -> str:
    if row is None or row.state == JobState.DONE:
        return "idle"
    return job_state(row)
