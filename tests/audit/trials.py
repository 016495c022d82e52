"""Random tampering with a ledger, each kind with its variants and what must be found.

The ledger has two teams, each with a chain of `LENGTH` entries, three signed
checkpoints with roots and their copies, and stored nodes of four children each.
Whoever tampers writes to the database as they like; where it says so, with the
site's key.
"""

from __future__ import annotations

import os
import random
import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from apps.audit import chain
from apps.audit.canonical_json import canonical_bytes
from apps.audit.chain import FaultKind
from apps.audit.checkpoints.format import sign
from apps.audit.models import Checkpoint, Content, Entry
from tests.audit.examples import append, draft, execute
from tests.audit.tampering import (
    copied_lines,
    cut_tail,
    entry_like,
    forge_entry,
    head_of,
    move_head,
    remove_checkpoints,
    rewrite,
    rewrite_without_the_key,
    set_head,
)

SIGNED = (5, 11, 16)
"""Where checkpoints are."""
LENGTH = 18
WIDTH = 4
"""Entries below a stored node of the lowest level."""
RUNS = uuid.UUID(int=11), uuid.UUID(int=12)

Found = Mapping[uuid.UUID, tuple[int, FaultKind]]
"""By team: seq and kind of the first fault."""


@dataclass
class Ledger:
    """What stands before somebody tampers with it."""

    team: uuid.UUID
    other: uuid.UUID
    dice: random.Random
    lines: list[str] = field(default_factory=list)
    """The copies of checkpoints."""

    def seq(self, first: int = 1, last: int = LENGTH) -> int:
        return self.dice.randint(first, last)


Tamper = Callable[[Ledger], Found]


def two_chains(dice: random.Random) -> Ledger:
    """Return two teams whose chains were signed and copied as they grew."""
    ledger = Ledger(uuid.uuid4(), uuid.uuid4(), dice)
    for before, end in zip((0, *SIGNED), (*SIGNED, LENGTH), strict=True):
        for team in (ledger.team, ledger.other):
            append(team, *map(_draft, range(before + 1, end + 1)))
        if end in SIGNED:
            ledger.lines += copied_lines()
    return ledger


def _draft(seq: int) -> Any:
    run = RUNS[seq % 2]
    bodies = {"text": f"text {seq}"}
    return draft(f"step.number_{seq}", subject_id=run, bodies=bodies)


def row_set(table: str, team: uuid.UUID, at: int, /, **values: Any) -> None:
    """Change columns of one row of a team."""
    columns = ", ".join(f"{name} = %s" for name in values)
    sql = f"UPDATE audit_{table} SET {columns} WHERE team_id = %s AND seq = %s"
    execute(sql, *values.values(), team, at)


def node_set(team: uuid.UUID, index: int, column: str, value: Any) -> None:
    """Change a stored node of the lowest level."""
    execute(
        f'UPDATE audit_treenode SET "{column}" = %s '
        'WHERE team_id = %s AND level = 2 AND "index" = %s',
        value,
        team,
        index,
    )


def row_delete(table: str, team: uuid.UUID, seq: int) -> None:
    execute(f"DELETE FROM audit_{table} WHERE team_id = %s AND seq = %s", team, seq)


def other_seq(ledger: Ledger, seq: int) -> int:
    return ledger.dice.choice([n for n in range(1, LENGTH + 1) if n != seq])


def exchange(change: Callable[[Any, Any], None], first: Any, second: Any) -> None:
    """Exchange two values of a key by way of one that nothing has."""
    for old, new in ((first, -1), (second, first), (-1, second)):
        change(old, new)


def gap(seq: int) -> FaultKind:
    return FaultKind.TAIL_MISSING if seq == LENGTH else FaultKind.SEQUENCE_GAP


# --- field changed -------------------------------------------------------------------


def field_of_the_bytes(ledger: Ledger) -> Found:
    seq = ledger.seq()
    document = orjson.loads(
        bytes(Entry.objects.for_team(ledger.team).get(seq=seq).canonical)
    )
    name, value = ledger.dice.choice(
        [
            ("action", "run.deleted"),
            ("actor", {"type": "user", "id": "2", "display": "Mallory"}),
            ("outcome", "denied"),
            ("recorded", "2020-01-01T00:00:00.000001Z"),
            ("data", {"round": 2}),
            ("bodies", {}),
        ]
    )
    changed = canonical_bytes({**document, name: value})
    row_set("entry", ledger.team, seq, canonical=changed)
    return {ledger.team: (seq, FaultKind.HASH_MISMATCH)}


def field_of_the_row(ledger: Ledger) -> Found:
    seq = ledger.seq()
    name, value = ledger.dice.choice(
        [
            ("action", "run.deleted"),
            ("subject_type", "user"),
            ("subject_id", uuid.uuid4()),
            ("recorded_at", "2020-01-01 00:00:00.000001"),
        ]
    )
    row_set("entry", ledger.team, seq, **{name: value})
    return {ledger.team: (seq, FaultKind.COLUMN_CHANGED)}


def node_of_the_tree(ledger: Ledger) -> Found:
    index = ledger.dice.randrange(SIGNED[-1] // WIDTH)
    node_set(ledger.team, index, "hash", ledger.dice.randbytes(32))
    return {ledger.team: ((index + 1) * WIDTH, FaultKind.TREE_MISMATCH)}


# --- content byte changed ------------------------------------------------------------


def byte_of_a_text(ledger: Ledger) -> Found:
    seq = ledger.seq()
    row = Content.objects.for_team(ledger.team).get(seq=seq)
    sealed = bytearray(row.sealed or b"")
    sealed[ledger.dice.randrange(len(sealed))] ^= 1 << ledger.dice.randrange(8)
    row_set("content", ledger.team, seq, sealed=bytes(sealed))
    return {ledger.team: (seq, FaultKind.CONTENT_UNREADABLE)}


def byte_of_a_salt(ledger: Ledger) -> Found:
    seq = ledger.seq()
    salt = bytearray(Content.objects.for_team(ledger.team).get(seq=seq).salt or b"")
    salt[ledger.dice.randrange(len(salt))] ^= 1 << ledger.dice.randrange(8)
    row_set("content", ledger.team, seq, salt=bytes(salt))
    return {ledger.team: (seq, FaultKind.CONTENT_CHANGED)}


# --- first, middle, last row deleted -------------------------------------------------


def entry_deleted(ledger: Ledger) -> Found:
    seq = ledger.dice.choice([1, ledger.seq(2, LENGTH - 1), LENGTH])
    row_delete("entry", ledger.team, seq)
    return {ledger.team: (seq, gap(seq))}


def text_deleted(ledger: Ledger) -> Found:
    seq = ledger.dice.choice([1, ledger.seq(2, LENGTH - 1), LENGTH])
    row_delete("content", ledger.team, seq)
    return {ledger.team: (seq, FaultKind.CONTENT_MISSING)}


def node_deleted(ledger: Ledger) -> Found:
    """The last one would only be made again."""
    index = ledger.dice.randrange(SIGNED[-1] // WIDTH - 1)
    execute(
        'DELETE FROM audit_treenode WHERE team_id = %s AND level = 2 AND "index" = %s',
        ledger.team,
        index,
    )
    return {ledger.team: ((index + 1) * WIDTH, FaultKind.TREE_MISMATCH)}


# --- row inserted --------------------------------------------------------------------


def entry_inserted(ledger: Ledger) -> Found:
    """Somewhere in the chain; those from there on move up."""
    seq, like = ledger.seq(), ledger.seq()
    _move_up(ledger.team, seq)
    columns = "action, subject_type, subject_id, recorded_at, canonical, hash, mac"
    source = like + 1 if like >= seq else like
    execute(
        f"INSERT INTO audit_entry (team_id, seq, {columns}) SELECT team_id, %s, "
        f"{columns} FROM audit_entry WHERE team_id = %s AND seq = %s",
        seq,
        ledger.team,
        source,
    )
    # A copy of the entry that was here is that entry; the next one is too many.
    place = seq + 1 if like == seq else seq
    return {ledger.team: (place, FaultKind.HASH_MISMATCH)}


def _move_up(team: uuid.UUID, seq: int) -> None:
    for number in range(LENGTH, seq - 1, -1):
        row_set("entry", team, number, seq=number + 1)


def entry_forged(ledger: Ledger) -> Found:
    """At the end, with a hash that follows, and a head that says so."""
    forge_entry(ledger.team, entry_like(ledger.team, ledger.seq()))
    return {ledger.team: (LENGTH + 1, FaultKind.MAC_MISSING)}


def node_inserted(ledger: Ledger) -> Found:
    """For entries to come, or on a level that no tree has."""
    level, index = ledger.dice.choice([(2, SIGNED[-1] // WIDTH), (4, 1), (3, 0)])
    execute(
        'INSERT INTO audit_treenode (team_id, level, "index", hash) '
        "VALUES (%s, %s, %s, %s)",
        ledger.team,
        level,
        index,
        ledger.dice.randbytes(32),
    )
    return {ledger.team: (LENGTH + 1, FaultKind.TREE_MISMATCH)}


# --- rows swapped --------------------------------------------------------------------


def entries_swapped(ledger: Ledger) -> Found:
    seq = ledger.seq()
    other = other_seq(ledger, seq)
    exchange(
        lambda old, new: row_set("entry", ledger.team, old, seq=new),
        seq,
        other,
    )
    return {ledger.team: (min(seq, other), FaultKind.HASH_MISMATCH)}


def texts_swapped(ledger: Ledger) -> Found:
    seq = ledger.seq()
    other = other_seq(ledger, seq)
    exchange(
        lambda old, new: row_set("content", ledger.team, old, seq=new),
        seq,
        other,
    )
    return {ledger.team: (min(seq, other), FaultKind.CONTENT_UNREADABLE)}


def nodes_swapped(ledger: Ledger) -> Found:
    first, second = ledger.dice.sample(range(SIGNED[-1] // WIDTH), 2)
    exchange(lambda old, new: node_set(ledger.team, old, "index", new), first, second)
    place = (min(first, second) + 1) * WIDTH
    return {ledger.team: (place, FaultKind.TREE_MISMATCH)}


# --- chain recomputed from row k -----------------------------------------------------


def recomputed_without_the_key(ledger: Ledger) -> Found:
    seq = ledger.seq()
    rewrite_without_the_key(ledger.team, seq)
    return {ledger.team: (seq, FaultKind.MAC_FORGED)}


def recomputed_with_the_key(ledger: Ledger) -> Found:
    """Whatever the site can derive is derived anew; what it has signed stays."""
    seq = ledger.seq(1, SIGNED[-1])
    rewrite(ledger.team, seq)
    execute("DELETE FROM audit_treenode WHERE team_id = %s", ledger.team)
    signed = min(place for place in SIGNED if place >= seq)
    return {ledger.team: (signed, FaultKind.REWRITTEN)}


def recomputed_with_the_key_and_signed_again(ledger: Ledger) -> Found:
    """Only the copies know what was signed before."""
    found = recomputed_with_the_key(ledger)
    remove_checkpoints(ledger.team)
    for seq in SIGNED:
        _sign_again(ledger.team, seq)
    return found


def _sign_again(team: uuid.UUID, seq: int, root: str = "") -> None:
    row = Entry.objects.for_team(team).get(seq=seq)
    made = sign(team, seq, row.hash, "2030-01-01T00:00:00.000000Z", root)
    signed = made._asdict()
    Checkpoint.objects.for_team(team).filter(seq=seq).delete()
    del signed["team"]
    Checkpoint.objects.create(team_id=team, **signed)


# --- checkpoint dropped --------------------------------------------------------------


def checkpoint_deleted(ledger: Ledger) -> Found:
    seq = ledger.dice.choice(SIGNED)
    row_delete("checkpoint", ledger.team, seq)
    return {ledger.team: (seq, FaultKind.CHECKPOINT_MISSING)}


def every_checkpoint_deleted(ledger: Ledger) -> Found:
    remove_checkpoints(ledger.team)
    return {ledger.team: (SIGNED[0], FaultKind.CHECKPOINT_MISSING)}


# --- checkpoint replaced -------------------------------------------------------------


def checkpoint_changed(ledger: Ledger) -> Found:
    seq = ledger.dice.choice(SIGNED)
    column, value = ledger.dice.choice(
        [
            ("hash", chain.tagged(ledger.dice.randbytes(32))),
            ("root", b64encode(ledger.dice.randbytes(32)).decode()),
            ("recorded", "2020-01-01T00:00:00.000000Z"),
            ("signature", ledger.dice.randbytes(68).hex()),
        ]
    )
    row_set("checkpoint", ledger.team, seq, **{column: value})
    return {ledger.team: (seq, FaultKind.CHECKPOINT_FORGED)}


def checkpoint_of_another_key(ledger: Ledger) -> Found:
    seq = ledger.dice.choice(SIGNED)
    foreign = Ed25519PrivateKey.generate().sign(os.urandom(8)).hex()
    row_set(
        "checkpoint",
        ledger.team,
        seq,
        key_id=f"ed25519:{ledger.dice.randbytes(8).hex()}",
        signature=foreign,
    )
    return {ledger.team: (seq, FaultKind.CHECKPOINT_KEY_UNKNOWN)}


def checkpoint_signed_with_another_root(ledger: Ledger) -> Found:
    """With the site's key: the root does not follow from the entries."""
    seq = ledger.dice.choice(SIGNED)
    root = b64encode(ledger.dice.randbytes(32)).decode()
    _sign_again(ledger.team, seq, root)
    return {ledger.team: (seq, FaultKind.TREE_MISMATCH)}


def copy_signed_with_another_root(ledger: Ledger) -> Found:
    """With the site's key: somebody was given another tree than the database has."""
    seq = ledger.dice.choice(SIGNED)
    row = Entry.objects.for_team(ledger.team).get(seq=seq)
    root = b64encode(ledger.dice.randbytes(32)).decode()
    time = "2030-01-01T00:00:00.000000Z"
    ledger.lines.append(sign(ledger.team, seq, row.hash, time, root).line)
    return {ledger.team: (seq, FaultKind.TREE_MISMATCH)}


# --- tail cut after the last copied checkpoint ---------------------------------------


def tail_cut_after_the_copy(ledger: Ledger) -> Found:
    """After the copy was made, up to what it stands for; with the key."""
    seq = ledger.seq(1, SIGNED[-1])
    cut_tail(ledger.team, seq)
    execute("DELETE FROM audit_treenode WHERE team_id = %s", ledger.team)
    if ledger.dice.random() < 0.5:
        remove_checkpoints(ledger.team)
        before = [place for place in SIGNED if place < seq]
        if before:
            return {ledger.team: (before[0], FaultKind.CHECKPOINT_MISSING)}
    return {ledger.team: (seq, FaultKind.TAIL_MISSING)}


def tail_cut_behind_the_copy(ledger: Ledger) -> Found:
    """Of what no checkpoint stands for; the head is moved without the key."""
    seq = ledger.seq(SIGNED[-1] + 1)
    end = str(Entry.objects.for_team(ledger.team).get(seq=seq - 1).hash)
    for table in ("entry", "content"):
        sql = f"DELETE FROM audit_{table} WHERE team_id = %s AND seq >= %s"
        execute(sql, ledger.team, seq)
    if ledger.dice.random() < 0.5:
        move_head(ledger.team, seq - 1, end)
        return {ledger.team: (seq - 1, FaultKind.MAC_FORGED)}
    return {ledger.team: (seq, FaultKind.TAIL_MISSING)}


# --- rows moved between teams --------------------------------------------------------


def entry_moved(ledger: Ledger) -> Found:
    seq = ledger.seq()
    row_set("entry", ledger.team, seq, team_id=ledger.other, seq=LENGTH + 1)
    return {
        ledger.team: (seq, gap(seq)),
        ledger.other: (LENGTH + 1, FaultKind.HASH_MISMATCH),
    }


def rows_exchanged(table: str, seq: int, ledger: Ledger) -> None:
    """Give each of two teams the other's row, by way of a third."""
    nobody = uuid.uuid4()
    for source, to in (
        (ledger.team, nobody),
        (ledger.other, ledger.team),
        (nobody, ledger.other),
    ):
        row_set(table, source, seq, team_id=to)


def entries_exchanged(ledger: Ledger) -> Found:
    seq = ledger.seq()
    rows_exchanged("entry", seq, ledger)
    found = (seq, FaultKind.HASH_MISMATCH)
    return {ledger.team: found, ledger.other: found}


def texts_exchanged(ledger: Ledger) -> Found:
    seq = ledger.seq()
    rows_exchanged("content", seq, ledger)
    found = (seq, FaultKind.CONTENT_UNREADABLE)
    return {ledger.team: found, ledger.other: found}


def checkpoints_exchanged(ledger: Ledger) -> Found:
    seq = ledger.dice.choice(SIGNED)
    rows_exchanged("checkpoint", seq, ledger)
    found = (seq, FaultKind.CHECKPOINT_FORGED)
    return {ledger.team: found, ledger.other: found}


def node_moved(ledger: Ledger) -> Found:
    """Each team has the other's node."""
    index = ledger.dice.randrange(SIGNED[-1] // WIDTH)
    nobody = uuid.uuid4()
    for source, to in (
        (ledger.team, nobody),
        (ledger.other, ledger.team),
        (nobody, ledger.other),
    ):
        node_set(source, index, "team_id", to)
    found = ((index + 1) * WIDTH, FaultKind.TREE_MISMATCH)
    return {ledger.team: found, ledger.other: found}


def head_of_another_team(ledger: Ledger) -> Found:
    row = head_of(ledger.other)
    set_head(ledger.team, seq=row.seq, hash=row.hash, mac=bytes(row.mac))
    return {ledger.team: (LENGTH, FaultKind.HEAD_CHANGED)}


KINDS: Mapping[str, Sequence[Tamper]] = {
    "field changed": (field_of_the_bytes, field_of_the_row, node_of_the_tree),
    "content byte changed": (byte_of_a_text, byte_of_a_salt),
    "row deleted": (entry_deleted, text_deleted, node_deleted),
    "row inserted": (entry_inserted, entry_forged, node_inserted),
    "rows swapped": (entries_swapped, texts_swapped, nodes_swapped),
    "chain recomputed": (
        recomputed_without_the_key,
        recomputed_with_the_key,
        recomputed_with_the_key_and_signed_again,
    ),
    "checkpoint dropped": (checkpoint_deleted, every_checkpoint_deleted),
    "checkpoint replaced": (
        checkpoint_changed,
        checkpoint_of_another_key,
        checkpoint_signed_with_another_root,
        copy_signed_with_another_root,
    ),
    "tail cut": (tail_cut_after_the_copy, tail_cut_behind_the_copy),
    "rows moved between teams": (
        entry_moved,
        entries_exchanged,
        texts_exchanged,
        checkpoints_exchanged,
        node_moved,
        head_of_another_team,
    ),
}
"""Ten kinds that change a database; two more are of exports alone."""
CAN_EXPORT_A_LIE = {recomputed_with_the_key_and_signed_again}
"""Only copied checkpoints speak against those who have all keys of the site."""
