"""What somebody who may write to the database does to a chain, leaving no loose end.

And what the site said of that chain before: its checkpoints, as they were copied.
"""

from __future__ import annotations

import io
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management import CommandError, call_command

from apps.audit import chain
from apps.audit.models import Entry
from tests.audit.examples import execute


def verify(*arguments: object) -> tuple[str, str]:
    """Return what `audit_verify` prints, and what it complains of."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("audit_verify", *map(str, arguments), stdout=out, stderr=err)
    except CommandError as exc:
        err.write(str(exc))
    return out.getvalue(), err.getvalue()


def checkpoint() -> str:
    """Let the site sign and copy now; return what the command says."""
    out = io.StringIO()
    call_command("audit_checkpoint", stdout=out)
    return out.getvalue()


def public_key() -> bytes:
    """Return what the site gives to those who check its copies."""
    out = io.StringIO()
    call_command("audit_public_key", stdout=out)
    return out.getvalue().encode()


@contextmanager
def copies_in_the_log() -> Iterator[list[str]]:
    """Give the lines that are copied to the log meanwhile."""
    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    keep, logger = Keep(), logging.getLogger("conductor.checkpoints")
    logger.addHandler(keep)
    try:
        yield lines
    finally:
        logger.removeHandler(keep)


def copied_lines() -> list[str]:
    """Let the site sign and copy now; return the lines."""
    with copies_in_the_log() as lines:
        checkpoint()
    return lines


# --- tampering -----------------------------------------------------------------------


def cut_tail(team_id: uuid.UUID, seq: int) -> None:
    """Remove the entries from `seq` on, and let the head say that this is all."""
    for table in ("audit_entry", "audit_content"):
        execute(f"DELETE FROM {table} WHERE team_id = %s AND seq >= %s", team_id, seq)
    last = Entry.objects.for_team(team_id).filter(seq=seq - 1).values_list("hash")
    end = last[0][0] if seq > 1 else chain.tagged(chain.GENESIS)
    move_head(team_id, seq - 1, end)


def rewrite(team_id: uuid.UUID, seq: int) -> None:
    """Say something else at `seq`, and make every hash from there on anew."""
    rows = Entry.objects.for_team(team_id).filter(seq__gte=seq).order_by("seq")
    before = Entry.objects.for_team(team_id).filter(seq=seq - 1).values_list("hash")
    end = chain.untagged(before[0][0]) if seq > 1 else chain.GENESIS
    for place, stored in list(rows.values_list("seq", "canonical")):
        canonical = bytes(stored)
        if place == seq:
            canonical = canonical.replace(b'"display":"Alice"', b'"display":"Malory"')
        end = chain.entry_hash(team_id, place, end, canonical)
        execute(
            "UPDATE audit_entry SET canonical = %s, hash = %s "
            "WHERE team_id = %s AND seq = %s",
            canonical,
            chain.tagged(end),
            team_id,
            place,
        )
    execute(
        "UPDATE audit_chainhead SET hash = %s WHERE team_id = %s",
        chain.tagged(end),
        team_id,
    )


def remove_team(team_id: uuid.UUID) -> None:
    """Remove all that the ledger holds of a team."""
    for table in ("entry", "content", "chainhead", "checkpoint"):
        execute(f"DELETE FROM audit_{table} WHERE team_id = %s", team_id)


def remove_checkpoints(team_id: uuid.UUID) -> None:
    """Remove what was signed of a team, in the database."""
    execute("DELETE FROM audit_checkpoint WHERE team_id = %s", team_id)


def move_head(team_id: uuid.UUID, seq: int, text: str) -> None:
    """Let the head say something else."""
    execute(
        "UPDATE audit_chainhead SET seq = %s, hash = %s WHERE team_id = %s",
        seq,
        text,
        team_id,
    )
