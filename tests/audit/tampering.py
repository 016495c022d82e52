"""What somebody who may write to the database does to a chain.

With the site's key, or with rows kept from before, they leave no loose end; without it
hashes that fit and codes that do not. And what the site said of that chain before: its
checkpoints, as they were copied.
"""

from __future__ import annotations

import io
import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from django.core.management import CommandError, call_command

from apps.audit import chain
from apps.audit.canonical_json import canonical_bytes
from apps.audit.macs import head_mac, mac_key
from apps.audit.models import ChainHead, Entry
from apps.audit.services import CONTENT_ERASED, content_erase
from tests.audit.examples import ALICE, execute


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
    """Remove the entries from `seq` on, with the head that the chain had before them.

    Who has kept that row needs no key.
    """
    for table in ("audit_entry", "audit_content"):
        execute(f"DELETE FROM {table} WHERE team_id = %s AND seq >= %s", team_id, seq)
    last = Entry.objects.for_team(team_id).filter(seq=seq - 1).values_list("hash")
    end = last[0][0] if seq > 1 else chain.tagged(chain.GENESIS)
    move_head(team_id, seq - 1, end)
    authenticate(team_id)


def rewrite(team_id: uuid.UUID, seq: int) -> None:
    """Say something else at `seq`, and make all from there on anew, with the key."""
    rewrite_without_the_key(team_id, seq)
    authenticate(team_id)


def rewrite_without_the_key(team_id: uuid.UUID, seq: int) -> None:
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


def authenticate(team_id: uuid.UUID) -> None:
    """Make every code of a chain anew, as somebody with the key can."""
    key = mac_key()
    for seq, text in Entry.objects.for_team(team_id).values_list("seq", "hash"):
        set_mac(team_id, seq, key.entry_mac(chain.untagged(text)))
    head = ChainHead.objects.get(team_id=team_id)
    end = chain.Position(head.seq, chain.untagged(head.hash))
    mac = head_mac(key, team_id, end, head.mac_from)
    execute("UPDATE audit_chainhead SET mac = %s WHERE team_id = %s", mac, team_id)


def set_mac(team_id: uuid.UUID, seq: int, mac: bytes) -> None:
    """Give an entry another code."""
    execute(
        "UPDATE audit_entry SET mac = %s WHERE team_id = %s AND seq = %s",
        mac,
        team_id,
        seq,
    )


def forge_entry(team_id: uuid.UUID, canonical: bytes, mac: bytes = b"") -> int:
    """Append an entry that fits, as whoever has no key can; return its seq."""
    head = ChainHead.objects.get(team_id=team_id)
    seq = head.seq + 1
    document = orjson.loads(canonical)
    target = document["targets"][0]
    end = chain.entry_hash(team_id, seq, chain.untagged(head.hash), canonical)
    values = {
        "team_id": team_id,
        "seq": seq,
        "action": document["action"],
        "subject_type": target["type"],
        "subject_id": uuid.UUID(target["id"]),
        "recorded_at": document["recorded"].replace("T", " ").removesuffix("Z"),
        "canonical": canonical,
        "hash": chain.tagged(end),
        "mac": mac,
    }
    marks = ", ".join(["%s"] * len(values))
    sql = f"INSERT INTO audit_entry ({', '.join(values)}) VALUES ({marks})"
    execute(sql, *values.values())
    move_head(team_id, seq, chain.tagged(end))
    return seq


def entry_like(team_id: uuid.UUID, seq: int, **changes: Any) -> bytes:
    """Return the bytes of an entry like another one, without texts, with `changes`."""
    stored = Entry.objects.for_team(team_id).get(seq=seq)
    document = orjson.loads(bytes(stored.canonical))
    bare = {**document, "id": str(uuid.uuid4()), "bodies": {}}
    return canonical_bytes({**bare, **changes})


def forge_erasure(team_id: uuid.UUID, seq: int, name: str = "text") -> int:
    """Take a text away, and record that in the words of the site; return where."""
    stored = Entry.objects.for_team(team_id).get(seq=seq)
    digest = orjson.loads(bytes(stored.canonical))["bodies"][name]["digest"]
    execute(
        "UPDATE audit_content SET salt = NULL, sealed = NULL "
        "WHERE team_id = %s AND seq = %s",
        team_id,
        seq,
    )
    erased = [{"seq": seq, "name": name, "digest": digest}]
    canonical = entry_like(
        team_id,
        seq,
        action=CONTENT_ERASED,
        data={"bodies": erased, "reason": "The time of these texts is over."},
        targets=[{"id": str(team_id), "type": "team"}],
    )
    return forge_entry(team_id, canonical)


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


# --- rows, and what the site does -----------------------------------------------------


def erase(team_id: uuid.UUID, seq: int) -> None:
    """Erase the text of an entry as the site does."""
    content_erase(
        team_id=team_id, places=[(seq, "text")], actor=ALICE, reason="its time is over"
    )


def mac_at(team_id: uuid.UUID, seq: int) -> bytes:
    """Return the code of an entry."""
    return bytes(Entry.objects.for_team(team_id).get(seq=seq).mac)


def head_of(team_id: uuid.UUID) -> ChainHead:
    """Return the row of a chain's end."""
    return ChainHead.objects.get(team_id=team_id)


def set_head(team_id: uuid.UUID, **values: Any) -> None:
    """Let the row of a chain's end say something else."""
    ChainHead.objects.filter(team_id=team_id).update(**values)
